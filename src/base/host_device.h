// SPDX-License-Identifier: MIT
// What functions and loops are declared with that kernels on a GPU have too.
#pragma once

#ifdef __CUDACC__
#define DESCEND_HOST_DEVICE __host__ __device__
#else
#define DESCEND_HOST_DEVICE
#endif

#ifdef __CUDA_ARCH__  // not when nvcc compiles for the host, whose compiler does not know it
#define DESCEND_UNROLL_ON_DEVICE _Pragma("unroll 8")
#else
#define DESCEND_UNROLL_ON_DEVICE
#endif
