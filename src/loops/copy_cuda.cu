// SPDX-License-Identifier: MIT
// The engine's copy kernel on NVIDIA GPUs.
#include "src/loops/bytes.h"
#include "src/loops/copy_kernels.h"
#include "src/loops/launch.cuh"

namespace descend::cuda {
namespace {

template <class Bits> __global__ void copy_points(Places<2> places, int64_t points, Bits* to, const Bits* from) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < points; i += step) {
    int64_t offset[2] = {};
    places.add(i, offset);
    to[offset[0]] = from[offset[1]];
  }
}

template <class Bits> Status copy_as(const CopyArgs& a, void* const* data, Launch& launch) {
  const CudaLaunch on = cuda_launch(launch);
  const int64_t points = a.points.points();
  return start(on, copy_points<Bits>, blocks_for(on, points, kThreads, 64), kThreads, 0, Places<2>(a.points), points,
               static_cast<Bits*>(data[0]), static_cast<const Bits*>(data[1]));
}

Status copy(const CopyArgs& a, void* const* data, Launch& launch) {
  switch (a.item) {
    case 1:
      return copy_as<uint8_t>(a, data, launch);
    case 2:
      return copy_as<uint16_t>(a, data, launch);
    case 4:
      return copy_as<uint32_t>(a, data, launch);
    case 8:
      return copy_as<uint64_t>(a, data, launch);
    default:
      return copy_as<detail::Bytes16>(a, data, launch);
  }
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kCopy, copy);

}  // namespace
}  // namespace descend::cuda
