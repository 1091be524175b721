# SPDX-License-Identifier: MIT
# libdescend_cuda.so: the plug-in for NVIDIA GPUs, where nvcc is found.  Found at run time beside the other libraries; no
# other library needs it, and it needs none of CUDA's but the driver.
option(DESCEND_CUDA "Build the plug-in for NVIDIA GPUs, if nvcc is found" ON)
if(NOT DESCEND_CUDA OR DESCEND_SANITIZE)
  return()
endif()
if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()
include(CheckLanguage)
if(CMAKE_CUDA_COMPILER)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No nvcc: the plug-in for NVIDIA GPUs is not built")
  set(DESCEND_CUDA OFF)
  return()
endif()
# A100 (sm_80) and H100 or H200 (sm_90); later ones compile the PTX when they load it.
set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPUs that kernels are compiled for")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 has not heard of it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()

# The same bits as on the CPU: nothing is fused but where the source says so, subnormals are kept (nvcc's default).
file(GLOB cuda_kernels CONFIGURE_DEPENDS ops/*/*_cuda.cu src/loops/*_cuda.cu)
add_library(descend_cuda_kernels OBJECT ${cuda_kernels})
target_include_directories(descend_cuda_kernels PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
# nvcc takes the assignment of a Status for ignoring one (2810), and what a concept asks for as unused (177).
target_compile_options(descend_cuda_kernels PRIVATE -fmad=false --expt-relaxed-constexpr -diag-suppress=2810,177
                                                    -Xcompiler=-Wall,-ffp-contract=off)
set_target_properties(descend_cuda_kernels PROPERTIES CUDA_VISIBILITY_PRESET hidden)

# Capabilities whose cards run code that has what came with 9.0, first and last of each run: machine code is for later
# cards of the same major number ("90-real"; for that one or its family alone where a letter follows), PTX for all
# later ones.  A card that runs code for an earlier one has none of it.
set(with_clusters "")
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(NOT architecture MATCHES "^([0-9]+)([af]?)(-real)?")  # "native", "all"
    list(APPEND with_clusters 90 999)
  elseif(CMAKE_MATCH_1 GREATER_EQUAL 90)
    set(last 999)
    if(CMAKE_MATCH_2 STREQUAL "a")
      set(last ${CMAKE_MATCH_1})
    elseif(CMAKE_MATCH_2 OR CMAKE_MATCH_3)
      math(EXPR last "${CMAKE_MATCH_1} / 10 * 10 + 9")
    endif()
    list(APPEND with_clusters ${CMAKE_MATCH_1} ${last})
  endif()
endforeach()
list(JOIN with_clusters "," with_clusters)

file(GLOB cuda_backend CONFIGURE_DEPENDS src/backends/cuda/*.cc)
add_library(descend_cuda MODULE ${cuda_backend} $<TARGET_OBJECTS:descend_cuda_kernels>)
target_include_directories(descend_cuda SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_compile_definitions(descend_cuda PRIVATE "DESCEND_WITH_CLUSTERS=${with_clusters}")
target_link_libraries(descend_cuda PRIVATE descend_flags descend Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(descend_cuda PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/descend_cuda.map -Wl,-z,defs
                                         -Wl,-z,nodelete)
set_target_properties(descend_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib64 INSTALL_RPATH "$ORIGIN"
                                              BUILD_WITH_INSTALL_RPATH ON CXX_VISIBILITY_PRESET hidden
                                              LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/descend_cuda.map)
