// SPDX-License-Identifier: MIT
// The cross entropy of rows that no team of blocks can keep in its shared memory, on GPUs: one block a row, which reads
// it three times.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"

namespace descend::cuda {

template <class Element, bool shows_lse>
__global__ void __launch_bounds__(kLongThreads, 3) longest_rows(const __grid_constant__ Loss<Element> l) {
  constexpr int V = 4 / sizeof(Element), kGroups = kLongThreads / TileGroup<V>::kSize, kWarps = kLongThreads / 32;
  const bool smooth = l.a.smoothing != 0;
  __shared__ double sums[kTilesOfChunk], distances[kTilesOfChunk];
  __shared__ float most_of[kWarps];
  __shared__ int times_of[kWarps];
  __shared__ LogProb f_of_row;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int64_t begin = blockIdx.x * l.cut.per_block, classes = l.a.labels.classes;
  const int64_t end = begin + l.cut.per_block < l.a.labels.rows ? begin + l.cut.per_block : l.a.labels.rows;
  const TileGroup<V> group;
  __shared__ __align__(8) unsigned char memory[sizeof(RowsSoFar<Element>)];
  RowsSoFar<Element>& so_far = *reinterpret_cast<RowsSoFar<Element>*>(memory);
  if (thread == 0) so_far = {};
  for (int64_t row = begin; row < end; ++row) {
    const PartOfRow<Element, false> part{l.at(row, 0), l.a.input.column, nullptr, classes};
    if (thread == 0) so_far.label = l.label_of(row);
    Scores scores;
    scores.most = largest_of_lanes(part.read(l.in_vectors));
    if (lane == 0) most_of[warp] = scores.most;
    __syncthreads();
    for (const float each : most_of) scores.most = std::fmax(scores.most, each);
    scores.most += 0.0f;
    SumOfChunks below(classes), distance(classes);
    for (int64_t round = 0; round < classes; round += kTilesOfChunk * kTile) {
      const int64_t left = ceil_divide(classes - round, kTile);
      const int there = static_cast<int>(left < kTilesOfChunk ? left : kTilesOfChunk);
      for (int tile = thread / TileGroup<V>::kSize; tile < there; tile += kGroups) {
        const int64_t column = round + tile * kTile;
        const int n = static_cast<int>(classes - column < kTile ? classes - column : kTile);
        const TileScores<Element, false> in_tile{part.from + column * part.stride, part.stride};
        const double one = sum_exponentials<shows_lse>(n, group, in_tile, scores.most, scores.times);
        if (group.rank == 0) sums[tile] = one;
        if (!smooth) continue;
        const double other = sum_distances<V>(column, n, group, in_tile, scores.most, l.labels);
        if (group.rank == 0) distances[tile] = other;
      }
      __syncthreads();
      if (thread < TileGroup<1>::kSize) {
        const TileGroup<1> chunk;
        const double one = sum_of(there, chunk, [&](int i) { return sums[i]; });
        const double other = smooth ? sum_of(there, chunk, [&](int i) { return distances[i]; }) : 0;
        if (thread == 0) below.add(one), distance.add(other);
      }
      __syncthreads();
    }
    scores.times = add_lanes(scores.times);
    if (lane == 0) times_of[warp] = scores.times;
    __syncthreads();
    if (thread == 0) {
      scores.times = 0;
      for (const int each : times_of) scores.times += each;
      scores.below = below.take();
      scores.distance = distance.take();
      so_far.scores = scores;
      so_far.log_sum = scores.log_sum();
      f_of_row = scores.log_prob(so_far.log_sum);
      so_far.add(l, row);
    }
    __syncthreads();
    part.write(f_of_row, l.log_prob + row * l.a.log_prob.row, l.a.log_prob.column, l.in_vectors);
    __syncthreads();
  }
  if (thread == 0) l.add_counted(so_far.counted);
  l.add_parts();
}

}  // namespace descend::cuda
