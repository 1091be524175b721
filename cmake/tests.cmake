# SPDX-License-Identifier: MIT
# One test program: tests/**/*_test.cc with the vector code they test, and every operator's *_test.cc.  tests/*_test.py
# start it and the rest.
if(NOT DESCEND_TESTS)
  return()
endif()
find_package(GTest REQUIRED)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/*_test.cc tests/numerics/math_functions.cc)
file(GLOB op_tests CONFIGURE_DEPENDS ops/*/*_test.cc)
if(DESCEND_SANITIZE STREQUAL "thread")
  # Threads meet in the runtime, the backend and the executors: what only computes is left out, which halves the build.
  list(FILTER test_sources EXCLUDE REGEX "tests/(numerics/|memory_test|spec_test|tensor_test)")
  set(op_tests)
endif()
if(NOT test_sources AND NOT op_tests)
  return()
endif()
add_executable(descend_tests ${test_sources} ${op_tests})
target_link_libraries(descend_tests PRIVATE descend_flags descend ascendcl nnopbase opapi TBB::tbb hwy::hwy
                                            GTest::gtest GTest::gtest_main Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(descend_tests PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64")
include(${CMAKE_SOURCE_DIR}/cmake/test_plugins.cmake)
