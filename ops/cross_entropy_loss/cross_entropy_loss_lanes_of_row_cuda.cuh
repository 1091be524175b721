// SPDX-License-Identifier: MIT
// The lanes of a warp that have one row, of those that it works on at once, on GPUs: a group of lanes for each tile.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cuda.cuh"

namespace descend::cuda {

// Each has V columns of a tile's lines.
template <int V> struct LanesOfRow {
  static constexpr int kLanes = TileGroup<V>::kSize, kTiles = 32 / kLanes;  // of a tile; of a warp
  int count;  // of a row: a power of two, 2 tiles at least

  // In each of them.
  template <class T, class F> __device__ __forceinline__ T over_row(T x, const F& f) const {
#pragma unroll 1
    for (int step = count / 2; step > kLanes; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
#pragma unroll
    for (int step = kLanes; step > 0; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
    return x;
  }
  __device__ __forceinline__ float largest(float x) const {
    return over_row(x, [](float a, float b) { return std::fmax(a, b); }) + 0.0f;
  }
  __device__ __forceinline__ int sum(int x) const {
    return over_row(x, [](int a, int b) { return a + b; });
  }
  // Of what the first lane of each tile has; in the first lane of the row.
  __device__ __forceinline__ double sum_of_tiles(double x) const {
#pragma unroll
    for (int apart = 16; apart >= kLanes; apart /= 2)
      if (apart == kLanes || apart < count) x += __shfl_down_sync(~0u, x, static_cast<unsigned>(apart));
    return x;
  }
};

}  // namespace descend::cuda
