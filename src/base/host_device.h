// SPDX-License-Identifier: MIT
// What functions are declared with that kernels on a GPU have too.
#pragma once

#ifdef __CUDACC__
#define DESCEND_HOST_DEVICE __host__ __device__
#else
#define DESCEND_HOST_DEVICE
#endif
