# SPDX-License-Identifier: MIT
# Programs: `descend` for everybody (bin/), what it starts (libexec/descend), and descend_doc for who works on the
# project.  The build folder has the shape of an installation, so that all of it works there too.
find_package(CLI11 REQUIRED)

file(GLOB command_sources CONFIGURE_DEPENDS tools/descend/*.cc)
add_executable(descend_command ${command_sources})
# The operators are listed by loading them, not by calling them.
target_link_options(descend_command PRIVATE -Wl,--no-as-needed)
target_link_libraries(descend_command PRIVATE descend_flags descend opapi CLI11::CLI11 nlohmann_json::nlohmann_json
                                              Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(descend_command PRIVATE -O1)  # CLI11 in each file: a third less to wait for
target_compile_definitions(descend_command PRIVATE DESCEND_VERSION="${PROJECT_VERSION}")
set_target_properties(descend_command PROPERTIES OUTPUT_NAME descend RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
                                                 INSTALL_RPATH "$ORIGIN/../lib64" BUILD_WITH_INSTALL_RPATH ON)
install(TARGETS descend_command RUNTIME DESTINATION bin)
add_dependencies(installed descend_command)

add_library(descend_preload MODULE tools/preload.c)
target_link_libraries(descend_preload PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(descend_preload PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/descend)
install(TARGETS descend_preload LIBRARY DESTINATION libexec/descend)
add_dependencies(installed descend_preload)

# Each operator's example program: `descend check` runs them.
file(GLOB examples CONFIGURE_DEPENDS ops/*/*_example.c)
foreach(example ${examples})
  get_filename_component(name ${example} NAME_WE)
  add_executable(${name} ${example})
  target_compile_options(${name} PRIVATE -g1)  # where in it something happened
  target_link_libraries(${name} PRIVATE descend_flags opapi nnopbase ascendcl m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/descend/examples
                                           INSTALL_RPATH "$ORIGIN/../../../lib64" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${name} RUNTIME DESTINATION libexec/descend/examples)
  add_dependencies(installed ${name})
endforeach()

# The pages that `descend doc` shows, and those they lead to, where they are in the repository: so their links hold.
file(GLOB pages RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ops/*/README.md ops/*/*_example.c)
foreach(page accuracy.md architecture.md checker.md environment.md testing.md trace.md trace.svg)
  list(APPEND pages docs/${page})
endforeach()
foreach(page ${pages})
  get_filename_component(folder ${page} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/doc/descend/${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${page} ${CMAKE_BINARY_DIR}/share/doc/descend/${page} SYMBOLIC)
  install(FILES ${page} DESTINATION share/doc/descend/${folder})
endforeach()

# Completion, where the shells look for it.
foreach(place bash:share/bash-completion/completions/descend zsh:share/zsh/site-functions/_descend
        fish:share/fish/vendor_completions.d/descend.fish)
  string(REGEX MATCH "^[a-z]+" shell ${place})
  string(REGEX REPLACE "^[a-z]+:" "" file ${place})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/${file}
    COMMAND descend_command completion ${shell} > ${CMAKE_BINARY_DIR}/${file}
    DEPENDS descend_command
    VERBATIM)
  list(APPEND completions ${CMAKE_BINARY_DIR}/${file})
  install(FILES ${CMAKE_BINARY_DIR}/${file} DESTINATION ${folder})
endforeach()
add_custom_target(completion ALL DEPENDS ${completions})
add_dependencies(installed completion)

add_executable(descend_doc tools/descend_doc.cc)
target_compile_definitions(descend_doc PRIVATE DESCEND_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_options(descend_doc PRIVATE -Wl,--no-as-needed)
target_link_libraries(descend_doc PRIVATE descend_flags descend opapi)
set_target_properties(descend_doc PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64")
