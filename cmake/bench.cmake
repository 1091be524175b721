# SPDX-License-Identifier: MIT
# The benchmark program: bench/ and every operator's *_bench.cc.
if(NOT DESCEND_BENCH)
  return()
endif()
find_package(benchmark REQUIRED)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cc ops/*/*_bench.cc)
add_executable(descend_bench ${bench_sources})
target_link_libraries(descend_bench PRIVATE descend_flags descend ascendcl nnopbase opapi benchmark::benchmark
                                            Threads::Threads)
set_target_properties(descend_bench PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64")
