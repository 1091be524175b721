# SPDX-License-Identifier: MIT
# Plug-ins that the tests load: one that works, one built for another engine, one under a wrong name, and a library that
# is none.  They are not beside the engine, so that nothing finds them unless DESCEND_BACKEND_PATH says so.
set(test_plugin_folder ${CMAKE_BINARY_DIR}/test_plugins)
function(descend_test_plugin name source)
  add_library(descend_${name} MODULE ${CMAKE_SOURCE_DIR}/tests/plugin/${source})
  target_link_libraries(descend_${name} PRIVATE descend_flags)
  target_compile_definitions(descend_${name} PRIVATE ${ARGN})
  set_target_properties(descend_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${test_plugin_folder}
                                                   CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  add_dependencies(descend_tests descend_${name})
endfunction()
descend_test_plugin(fake fake.cc)
descend_test_plugin(outdated fake.cc FAKE_NAME="outdated" FAKE_ABI=1)
descend_test_plugin(misnamed fake.cc FAKE_NAME="somebody_else")
descend_test_plugin(mute mute.cc)

# The plug-in for NVIDIA GPUs without one, where CUDA's headers are: the same backend over a runtime of threads, and the
# kernels on the host.  What they may not do on a GPU stops the program here, or fails.  Sanitizers cannot follow the
# kernels' threads, which are fibers: the backend alone is for them.  Nor can what checks longjmp.
find_path(DESCEND_CUDA_HEADERS cuda_fp16.h HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include)
if(DESCEND_CUDA_HEADERS)
  descend_test_plugin(emulated emulated_runtime.cc DESCEND_EMULATED "DESCEND_WITH_CLUSTERS=90,999")
  file(GLOB cuda_backend CONFIGURE_DEPENDS src/backends/cuda/*.cc)
  target_sources(descend_emulated PRIVATE ${cuda_backend} ${CMAKE_SOURCE_DIR}/tests/plugin/emulated_memory.cc)
  target_link_libraries(descend_emulated PRIVATE descend Threads::Threads)
  target_include_directories(descend_emulated SYSTEM PRIVATE ${DESCEND_CUDA_HEADERS})
endif()
if(DESCEND_CUDA_HEADERS AND NOT DESCEND_SANITIZE)
  target_sources(descend_emulated PRIVATE ${CMAKE_SOURCE_DIR}/tests/plugin/emulated.cc)
  file(GLOB emulated_kernels CONFIGURE_DEPENDS ops/*/*_cuda.cu src/loops/*_cuda.cu)
  foreach(kernel ${emulated_kernels})
    get_filename_component(name ${kernel} NAME_WE)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/emulated/${name}.cc @ONLY CONTENT
         "#include \"tests/plugin/emulated.h\"\n#include \"@kernel@\"\n")
    target_sources(descend_emulated PRIVATE ${CMAKE_BINARY_DIR}/emulated/${name}.cc)
  endforeach()
  target_compile_options(descend_emulated PRIVATE -O1 -fno-strict-aliasing -fsanitize=alignment,bounds
                                                  -fsanitize-undefined-trap-on-error -Wno-unknown-pragmas
                                                  -Wno-maybe-uninitialized -U_FORTIFY_SOURCE)
endif()

target_compile_definitions(descend_tests PRIVATE DESCEND_TEST_PLUGINS="${test_plugin_folder}")

# oneTBB's templates look like races to the thread sanitizer, which cannot see into the library they work with.  The
# one file that uses them is built without it; the ordering that counts is stated in parallel.cc, built with it.
if(DESCEND_SANITIZE STREQUAL "thread")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backends/cpu/arena.cc PROPERTIES COMPILE_OPTIONS
                                                                                       -fno-sanitize=thread)
endif()
