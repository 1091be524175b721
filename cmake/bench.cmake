# SPDX-License-Identifier: MIT
# The benchmark program: bench/ and every operator's *_bench.cc; with DESCEND_TORCH also what times PyTorch (*_torch.cc,
# torch.cc).
if(NOT DESCEND_BENCH)
  return()
endif()
set(DESCEND_TORCH "" CACHE PATH "Folder of an installed Python package torch, to compare with; empty: none")
find_package(benchmark REQUIRED)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cc ops/*/*_bench.cc)
list(FILTER bench_sources EXCLUDE REGEX "/torch\\.cc$")
add_executable(descend_bench ${bench_sources})
target_link_libraries(descend_bench PRIVATE descend_flags descend ascendcl nnopbase opapi benchmark::benchmark
                                            nlohmann_json::nlohmann_json Threads::Threads)
set_target_properties(descend_bench PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64" INSTALL_RPATH "$ORIGIN/../../lib64")
install(TARGETS descend_bench RUNTIME DESTINATION libexec/descend OPTIONAL)  # `descend bench` starts it
if(DESCEND_TORCH)
  file(GLOB torch_sources CONFIGURE_DEPENDS bench/torch.cc ops/*/*_torch.cc)
  add_library(descend_bench_torch OBJECT ${torch_sources})
  target_link_libraries(descend_bench_torch PRIVATE descend_flags)
  target_include_directories(descend_bench_torch SYSTEM
                             PRIVATE "${DESCEND_TORCH}/include" "${DESCEND_TORCH}/include/torch/csrc/api/include")
  target_compile_options(descend_bench_torch PRIVATE -O1 -g0)  # the work is in the library
  target_link_libraries(descend_bench PRIVATE descend_bench_torch "${DESCEND_TORCH}/lib/libtorch_cpu.so"
                                              "${DESCEND_TORCH}/lib/libc10.so")
  set_target_properties(descend_bench PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64;${DESCEND_TORCH}/lib")
endif()
