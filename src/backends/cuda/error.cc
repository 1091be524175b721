// SPDX-License-Identifier: MIT
// CUDA's errors as codes and texts of the API.
#include "src/backends/cuda/launch.h"
#include "src/base/text.h"

namespace descend {
namespace {

Code code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return Code::kOutOfMemory;
    case cudaErrorLaunchTimeout:
      return Code::kKernelTimeout;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorCudartUnloading:
      return Code::kInternal;
    default:
      return Code::kKernelFailed;
  }
}

}  // namespace

Status cuda_status(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // what is not the card's death is told once
  return {code_of(error),
          cat("the card failed ", doing, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")")};
}

}  // namespace descend
