// SPDX-License-Identifier: MIT
// What kernels (*_cuda.cu) see of the cuda backend: where to launch, and the table to be in.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#include "src/device/device.h"
#include "src/device/kernel.h"

namespace descend {

// The kernels of this plug-in, filled by its static initialisation.
KernelTable& cuda_kernels();

// Scratch belongs to the stream: kernels use it one after the other, as they run.  It begins with counters that are 0
// between kernels.
struct CudaScratch {
  static constexpr int kTickets = 2;
  static constexpr int kNumbers = 1 << 16;
  // Sums of tiles, chunks or groups of terms that are kept: so many of tiles, and of chunks, at most.
#ifndef DESCEND_EMULATED
  static constexpr int kUnits = 1 << 18, kTiles = 1 << 15, kChunks = kUnits;
#else
  static constexpr int kUnits = 512, kTiles = 64, kChunks = kUnits;  // so few that tests have more
#endif
  static_assert(kTiles <= kUnits && kChunks <= kUnits);
  unsigned tickets[kTickets];
  unsigned long long counts;  // rows; of count_rows also the blocks that have counted theirs, in the upper half
  double numbers[kNumbers];
  double units[kUnits];
};

struct CudaLaunch {
  cudaStream_t stream;
  CudaScratch* scratch;
  int multiprocessors;
  int shared_memory;    // bytes that a block may have
  int largest_cluster;  // how many blocks may share theirs
};
// Of the stream that a kernel is called for; notes the operator, for the text of a failure that shows later.
CudaLaunch cuda_launch(Launch& launch);

// What a call of CUDA answered, as a Status; `doing` completes "the card failed ...".
Status cuda_status(cudaError_t error, const char* doing);

}  // namespace descend
