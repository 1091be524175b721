// SPDX-License-Identifier: MIT
// The sum of the smooth L1 loss over all points on NVIDIA GPUs, of operands of any dtype and layout.
#pragma once
#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"
#include "src/loops/math.cuh"
#include "src/loops/reduce.cuh"

namespace descend::cuda {
namespace {

#include "ops/smooth_l1_loss/smooth_l1_loss_formulas.inc"

// The sum of a tile in columns of T, of which a thread has V.  times_beta as AddLoss has it.
template <class T, int V, bool times_beta> struct ColumnsOfTile {
  static constexpr int kColumns = static_cast<int>(kSumColumns<T>), kLanes = kColumns / V;
  Loss loss;
  T column[V] = {};

  __device__ explicit ColumnsOfTile(const Loss& l) : loss(l) {}
  template <class Element> __device__ __forceinline__ void add(int j, Element self, Element target) {
    column[j] = AddLoss<times_beta>{loss}(Lane<T>{}, column[j], widen<T>(self), widen<T>(target));
  }
  // In the first of the kLanes threads of the tile.
  __device__ __forceinline__ double sum() const {
    const int first = static_cast<int>(threadIdx.x % 32) / kLanes * kLanes;
    double wide[V];
#pragma unroll
    for (int j = 0; j < V; ++j) wide[j] = static_cast<double>(column[j]);
    return add_columns<V, kColumns>(wide, static_cast<unsigned>((uint64_t{1} << kLanes) - 1) << first);
  }
};
// What the first of the tile's threads has, in all of them.
template <int lanes> __device__ __forceinline__ double from_first(double sum) {
  const int first = static_cast<int>(threadIdx.x % 32) / lanes * lanes;
  return __shfl_sync(static_cast<unsigned>((uint64_t{1} << lanes) - 1) << first, sum, first);
}

// Operands of any dtype and layout, a thread a column.
struct AnyLoss {
  const void *self, *target;
  DataType self_dtype, target_dtype;
  Places<2> places;
  Loss loss;

  // Of n terms from number `first` on, in the first lane of the warp.
  template <class T, bool times_beta> __device__ __forceinline__ double tile(int64_t first, int n) const {
    constexpr int kColumns = static_cast<int>(kSumColumns<T>);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    ColumnsOfTile<T, 1, times_beta> columns(loss);
    for (int i = lane; i < n && lane < kColumns; i += kColumns) {
      int64_t offset[2] = {};
      places.add(first + i, offset);
      columns.add(0, load_as<T>(self_dtype, self, offset[0]), load_as<T>(target_dtype, target, offset[1]));
    }
    double wide[1] = {static_cast<double>(columns.column[0])};
    return add_columns<1, kColumns>(wide, ~0u);
  }
};
template <bool in_float, class Finish>
__global__ void __launch_bounds__(kThreads)
    sum_any(const __grid_constant__ AnyLoss of, SumCut cut, CudaScratch* scratch, Finish finish) {
  __shared__ double parts[1][kTilesOfChunk];
  const int number = static_cast<int>(threadIdx.x) / 32;  // of the batch's tiles, this warp's
  const auto batch = [&](int64_t first, int tiles, int at) {
    if (number >= tiles) return;
    const int64_t begin = (first + number) * kTile;
    const int n = static_cast<int>(cut.count - begin < kTile ? cut.count - begin : kTile);
    double sum;
    if constexpr (in_float) {
      sum = from_first<32>(of.tile<float, false>(begin, n));
      if (!std::isfinite(sum)) sum = of.tile<double, false>(begin, n);
    } else {
      sum = of.tile<double, true>(begin, n);
    }
    if (threadIdx.x % 32 == 0) parts[0][at + number] = sum;
  };
  sum_batches<1, kThreads / 32>(cut, scratch, parts, batch, finish);
}
template <class Finish>
Status sum_anything(const AnyLoss& of, bool in_float, int64_t count, const Finish& finish, const CudaLaunch& on) {
  const SumCut cut(count, 1);
  return start(on, in_float ? sum_any<true, Finish> : sum_any<false, Finish>, cut.blocks(kThreads / 32), kThreads, 0,
               of, cut, on.scratch, finish);
}

}  // namespace
}  // namespace descend::cuda
