// SPDX-License-Identifier: MIT
// What functions and loops are declared with that kernels on a GPU have too.
#pragma once

#ifdef __CUDACC__
#define DESCEND_HOST_DEVICE __host__ __device__
#define DESCEND_UNROLL_ON_DEVICE _Pragma("unroll 8")
#else
#define DESCEND_HOST_DEVICE
#define DESCEND_UNROLL_ON_DEVICE
#endif
