// SPDX-License-Identifier: MIT
// The cross entropy of rows that no team of blocks can keep in its shared memory, on GPUs: one block a row, which reads
// it three times.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_so_far_cuda.cuh"

namespace descend::cuda {

// The sum of weight * (score - most) over a row, by all threads of the block; in its first.
template <int V, class Element>
__device__ __noinline__ double distance_of_long_row(const Loss<Element>& l, int64_t row, float most) {
  constexpr int kGroups = kLongThreads / TileGroup<V>::kSize;
  __shared__ double sums[kTilesOfChunk];
  const int64_t classes = l.a.labels.classes;
  const int thread = static_cast<int>(threadIdx.x);
  const TileGroup<V> group;
  SumOfChunks total(classes);
  for (int64_t round = 0; round < classes; round += kTilesOfChunk * kTile) {
    const int64_t left = ceil_divide(classes - round, kTile);
    const int there = static_cast<int>(left < kTilesOfChunk ? left : kTilesOfChunk);
    for (int tile = thread / TileGroup<V>::kSize; tile < there; tile += kGroups) {
      const int64_t column = round + tile * kTile;
      const int n = static_cast<int>(classes - column < kTile ? classes - column : kTile);
      const TileScores<Element, RowsAre::kAnyhow> in_tile{l.at(row, column), l.a.input.column};
      const double one = sum_distances<V>(column, n, group, in_tile, most, l.labels);
      if (group.rank == 0) sums[tile] = one;
    }
    __syncthreads();
    if (thread < TileGroup<1>::kSize) {
      const double chunk = sum_of(there, TileGroup<1>(), [&](int i) { return sums[i]; });
      if (thread == 0) total.add(chunk);
    }
    __syncthreads();
  }
  return total.take();
}

template <class Element, bool shows_lse>
__global__ void __launch_bounds__(kLongThreads, 3) longest_rows(const __grid_constant__ Loss<Element> l) {
  constexpr int V = 4 / sizeof(Element);
  const CrossEntropyParts parts(l.a.labels.classes, sizeof(Element));
  __shared__ __align__(8) unsigned char memory_of_parts[CrossEntropyParts::kMost * sizeof(PartScores)];
  PartScores* const of_parts = reinterpret_cast<PartScores*>(memory_of_parts);
  __shared__ LogProb f_of_row;
  __shared__ float most_of_row;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const int64_t begin = blockIdx.x * l.cut.per_block, classes = l.a.labels.classes;
  const int64_t end = begin + l.cut.per_block < l.a.labels.rows ? begin + l.cut.per_block : l.a.labels.rows;
  __shared__ __align__(8) unsigned char memory[sizeof(RowsSoFar<Element>)];
  RowsSoFar<Element>& so_far = *reinterpret_cast<RowsSoFar<Element>*>(memory);
  if (thread == 0) so_far = {};
  for (int64_t row = begin; row < end; ++row) {
    const auto for_each_part = [&](const auto& body) {
#pragma unroll 1
      for (int64_t part = warp; part < parts.count; part += kLongWarps) {
        const int64_t first = part * parts.columns, left = classes - first;
        body(PartOfRow<Element, RowsAre::kAnyhow, false>{l.at(row, first), l.a.input.column, nullptr,
                                                         left < parts.columns ? left : parts.columns, l.rows_are},
             part);
      }
    };
    if (thread == 0) so_far.label = l.label_of(row);
    for_each_part([&](const auto& part, int64_t number) {
      const PartScores scores = part.template sum<shows_lse, V>(part.largest(), parts.count == 1);
      if (lane_of_warp() == 0) of_parts[number] = scores;
    });
    __syncthreads();
    if (warp == 0) {
      const Scores scores = scores_of_row<CrossEntropyParts::kMost>(of_parts, static_cast<int>(parts.count));
      const double log_sum = scores.log_sum();
      if (thread == 0) {
        so_far.scores = scores;
        so_far.log_sum = log_sum;
        f_of_row = scores.template log_prob<Element>(log_sum);
        most_of_row = scores.most;
      }
    }
    __syncthreads();
    if (l.a.smoothing != 0) {
      const double distance = distance_of_long_row<V>(l, row, most_of_row);
      if (thread == 0) so_far.scores.distance = distance;
    }
    if (thread == 0) so_far.add(l, row);
    for_each_part([&](const auto& part, int64_t number) {
      part.write(f_of_row, l.log_prob + row * l.a.log_prob.row + number * parts.columns * l.a.log_prob.column,
                 l.a.log_prob.column);
    });
    __syncthreads();
  }
  if (thread == 0) l.add_counted(so_far.counted);
  l.add_parts();
}

}  // namespace descend::cuda
