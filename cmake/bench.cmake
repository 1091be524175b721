# SPDX-License-Identifier: MIT
# The benchmark program: bench/ and every operator's *_bench.cc; with DESCEND_TORCH also what times PyTorch (*_torch.cc,
# torch.cc), with DESCEND_ONEDNN what times oneDNN (*_onednn.cc, onednn.cc).
if(NOT DESCEND_BENCH)
  return()
endif()
set(DESCEND_TORCH "" CACHE PATH "Folder of an installed Python package torch, to compare with; empty: none")
option(DESCEND_ONEDNN "Compare with oneDNN where it is found" OFF)
find_package(benchmark REQUIRED)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cc ops/*/*_bench.cc)
list(FILTER bench_sources EXCLUDE REGEX "/(torch|onednn)\\.cc$")
add_executable(descend_bench ${bench_sources})
target_link_libraries(descend_bench PRIVATE descend_flags descend ascendcl nnopbase opapi benchmark::benchmark
                                            nlohmann_json::nlohmann_json Threads::Threads)
set_target_properties(descend_bench PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64" INSTALL_RPATH "$ORIGIN/../../lib64")
install(TARGETS descend_bench RUNTIME DESTINATION libexec/descend)  # `descend bench` starts it
add_dependencies(installed descend_bench)

# peer(NAME): the files that know this library.
function(peer name)
  file(GLOB sources CONFIGURE_DEPENDS bench/${name}.cc ops/*/*_${name}.cc)
  add_library(descend_bench_${name} OBJECT ${sources})
  target_link_libraries(descend_bench_${name} PRIVATE descend_flags)
  target_compile_options(descend_bench_${name} PRIVATE -O1 -g0)  # the work is in the library
  target_link_libraries(descend_bench PRIVATE descend_bench_${name})
endfunction()

if(DESCEND_TORCH)
  peer(torch)
  target_include_directories(descend_bench_torch SYSTEM
                             PRIVATE "${DESCEND_TORCH}/include" "${DESCEND_TORCH}/include/torch/csrc/api/include")
  target_link_libraries(descend_bench PRIVATE "${DESCEND_TORCH}/lib/libtorch_cpu.so" "${DESCEND_TORCH}/lib/libc10.so")
  # Installed, too, it needs the PyTorch that it was built with, where that is.
  set_target_properties(descend_bench PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64;${DESCEND_TORCH}/lib"
                                                 INSTALL_RPATH "$ORIGIN/../../lib64;${DESCEND_TORCH}/lib")
endif()

if(DESCEND_ONEDNN)
  find_package(dnnl 2.6 QUIET)
  find_package(OpenMP QUIET)  # its threads
  if(dnnl_FOUND AND OpenMP_CXX_FOUND)
    peer(onednn)
    target_link_libraries(descend_bench_onednn PRIVATE DNNL::dnnl OpenMP::OpenMP_CXX)
    target_link_libraries(descend_bench PRIVATE DNNL::dnnl ${OpenMP_CXX_LIBRARIES})
  else()
    message(STATUS "oneDNN 2.6 was not found: the benchmarks go without")
  endif()
endif()
