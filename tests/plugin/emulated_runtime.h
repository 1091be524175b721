// SPDX-License-Identifier: MIT
// What the kernels of emulated.h need of the emulated runtime.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

namespace descend::emulated {

// Queues a kernel, which answers what became of it.  An answer but cudaSuccess is the card's from then on.
cudaError_t launch(cudaStream_t stream, std::function<cudaError_t()> kernel);

// DESCEND_EMULATED_ORDER: in which order blocks, and their threads, run.
unsigned chosen_order();

inline constexpr int kMostSharedMemory = 227 << 10;  // that a block may have on an H200
int shared_memory_of_block();                        // on this card

}  // namespace descend::emulated
