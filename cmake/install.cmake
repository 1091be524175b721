# SPDX-License-Identifier: MIT
# The prefix, shaped as clients of these libraries expect it.  The build folder gets the same shape (its headers are
# links to the sources), so that its own set_env.sh works too.
include(CMakePackageConfigHelpers)

set(public_libraries ascendcl nnopbase opapi)
# Other names under which clients link these libraries: a program linked by one records the real library's name.
set(names_of_ascendcl acl_rt)
set(names_of_nnopbase "")
set(names_of_opapi opapi_nn opapi_cv opapi_math aclnn_ops_infer aclnn_ops_train aclnn_math)

# All of them, for the checker, which shows none of our own frames.
set(all_names "\"libdescend.so\",\"libdescend_cuda.so\"")
foreach(library ${public_libraries})
  foreach(name ${library} ${names_of_${library}})
    string(APPEND all_names ",\"lib${name}.so\"")
  endforeach()
endforeach()
set_property(SOURCE src/check/site.cc APPEND PROPERTY COMPILE_DEFINITIONS "DESCEND_LIBRARIES=${all_names}")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(arch_folder aarch64-linux)
else()
  set(arch_folder x86_64-linux)
endif()

set(shape ${CMAKE_BINARY_DIR})
file(MAKE_DIRECTORY ${shape}/lib64 ${shape}/include/aclnnop/level2 ${shape}/${arch_folder})

# Headers
install(DIRECTORY include/acl include/aclnn DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES ${op_headers} DESTINATION include/aclnnop)
install(FILES ${op_headers} DESTINATION include/aclnnop/level2)
foreach(folder acl aclnn)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/${folder} ${shape}/include/${folder} SYMBOLIC)
endforeach()
foreach(header ${op_headers})
  get_filename_component(name ${header} NAME)
  file(CREATE_LINK ${header} ${shape}/include/aclnnop/${name} SYMBOLIC)
  file(CREATE_LINK ${header} ${shape}/include/aclnnop/level2/${name} SYMBOLIC)
endforeach()

# Libraries and their other names
add_custom_target(installed DEPENDS descend ${public_libraries})  # all that an installation needs built
install(TARGETS descend ${public_libraries} LIBRARY DESTINATION lib64)
if(TARGET descend_cuda)
  add_dependencies(installed descend_cuda)
  install(TARGETS descend_cuda LIBRARY DESTINATION lib64)
endif()
foreach(library ${public_libraries})
  foreach(name ${names_of_${library}})
    file(CREATE_LINK lib${library}.so ${shape}/lib64/lib${name}.so SYMBOLIC)
    install(FILES ${shape}/lib64/lib${name}.so DESTINATION lib64)
  endforeach()
endforeach()

# <arch>-linux/{include,lib64}
foreach(folder include lib64)
  file(CREATE_LINK ../${folder} ${shape}/${arch_folder}/${folder} SYMBOLIC)
  install(FILES ${shape}/${arch_folder}/${folder} DESTINATION ${arch_folder})
endforeach()

# find_package(Descend)
configure_package_config_file(cmake/DescendConfig.cmake.in ${shape}/lib64/cmake/Descend/DescendConfig.cmake
                              INSTALL_DESTINATION lib64/cmake/Descend)
write_basic_package_version_file(${shape}/lib64/cmake/Descend/DescendConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${shape}/lib64/cmake DESTINATION lib64)
install(DIRECTORY ${shape}/lib64/cmake/Descend DESTINATION share/cmake)  # Debian's CMake looks in no lib64
file(MAKE_DIRECTORY ${shape}/share)
file(CREATE_LINK ../lib64/cmake ${shape}/share/cmake SYMBOLIC)

# pkg-config
function(descend_pkg_config pc_name pc_description pc_requires pc_libs)
  configure_file(cmake/library.pc.in ${shape}/lib64/pkgconfig/${pc_name}.pc @ONLY)
endfunction()
descend_pkg_config(ascendcl "The AscendCL runtime API on ordinary hardware" "" "-L\${libdir} -lascendcl")
descend_pkg_config(nnopbase "Tensors, scalars and executors of the aclnn API" "ascendcl" "-L\${libdir} -lnnopbase")
descend_pkg_config(opapi "The operators of the aclnn API" "nnopbase" "-L\${libdir} -lopapi")
descend_pkg_config(descend "All libraries of Descend" "opapi, nnopbase, ascendcl" "")
install(DIRECTORY ${shape}/lib64/pkgconfig DESTINATION lib64)

configure_file(cmake/set_env.sh ${shape}/set_env.sh COPYONLY)
install(FILES cmake/set_env.sh DESTINATION .)
install(FILES LICENSE NOTICE DESTINATION share/doc/descend)
