// SPDX-License-Identifier: MIT
// The cross entropy of rows longer than a tile, on GPUs: one row after the other, each by all threads of a team of
// blocks.
//
// The largest score must be known before the exponentials are added, and their sum before the row is written, so a
// block often waits.  Blocks are small, for several to be on a multiprocessor and one to compute while another reads or
// writes; but not more than leave registers for everything.  A row that is too long for one block's shared memory is
// kept in that of up to eight; what fits nowhere: cross_entropy_loss_longest_rows_cuda.cuh.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_team_cuda.cuh"

namespace descend::cuda {

inline constexpr int64_t kBlockMemory = 73 << 10;  // bytes: three blocks fit beside each other

// What SumOfTiles makes of the sums of a row that a team has, by a warp, a few lanes a chunk; writes over them.
__device__ __forceinline__ double sum_of_tiles(double* sums, int tiles) {
  constexpr int64_t kLargestMemory = 256 << 10;  // of a block, of any card
  static_assert(kLargestTeam * kLargestMemory / 2 <= kSumGroups * kChunk, "each chunk is a group");
  constexpr int V = 2, kAtOnce = 32 / TileGroup<V>::kSize, kOfChunk = static_cast<int>(kTilesOfChunk);
  const TileGroup<V> group;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int first = lane / TileGroup<V>::kSize * kOfChunk; first < tiles; first += kAtOnce * kOfChunk) {
    const int n = tiles - first < kOfChunk ? tiles - first : kOfChunk;
    const double chunk = sum_tile<V>(n, group, [&](int i, int there, double(&value)[V]) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        if (j < there) value[j] = sums[first + i + j];
    });
    if (group.rank == 0) sums[first] = chunk;
  }
  __syncwarp();
  if (tiles <= kOfChunk) return sums[0];
  return sum_of((tiles - 1) / kOfChunk + 1, TileGroup<1>(), [&](int i) { return sums[i * kOfChunk]; });
}

// Rows that are kept in the shared memory of a team, `tiles_of_block` in each block's.  `at_once`: for so many tiles'
// sums there is room before them.  `smooth`: whether the labels are smoothed.
template <class Element, bool shows_lse, bool smooth>
__global__ void __launch_bounds__(kLongThreads, 3)
    long_rows(const __grid_constant__ Loss<Element> l, int tiles_of_block, int at_once) {
  constexpr int V = 8 / sizeof(Element);  // columns of a thread
  constexpr int kGroups = kLongThreads / TileGroup<V>::kSize, kWarps = kLongThreads / 32;
  constexpr int kWide = static_cast<int>(kTile) + kSkew;  // of a tile in the cache
  double* const sums = shared_memory<double>();  // of exponentials, then of distances; the first block's are used
  double* const distances = sums + at_once;
  Element* const cache = reinterpret_cast<Element*>(distances + (smooth ? at_once : 0));
  __shared__ float most_of[kLargestTeam * kWarps];
  __shared__ int times_of[kLargestTeam * kWarps];
  __shared__ LogProb f_of_row;
  __shared__ Box most_box, sums_box, f_box;
  const Team team;
  const int team_size = team.size(), rank = team.rank(), warps = team_size * kWarps;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int64_t begin = blockIdx.x / team_size * l.cut.per_block;
  const int64_t end = begin + l.cut.per_block < l.a.labels.rows ? begin + l.cut.per_block : l.a.labels.rows;
  const int classes = static_cast<int>(l.a.labels.classes), tiles = static_cast<int>(ceil_divide(classes, kTile));
  const int first_tile = rank * tiles_of_block, first = first_tile * static_cast<int>(kTile);
  const int mine = tiles_of_block * static_cast<int>(kTile), rest = classes > first ? classes - first : 0;
  const int columns = rest < mine ? rest : mine;
  const TileGroup<V> group;
  const bool adds = rank == 0 && thread == 0;
  __shared__ __align__(8) unsigned char memory[sizeof(RowsSoFar<Element>)];
  RowsSoFar<Element>& so_far = *reinterpret_cast<RowsSoFar<Element>*>(memory);
  if (thread == 0) {
    so_far = {};
    team.open(most_box);
    team.open(sums_box);
    team.open(f_box);
  }
  team.meet();
  for (int64_t row = begin; row < end; ++row) {
    const PartOfRow<Element, true> part{l.at(row, first), l.a.input.column, cache, columns};
    const unsigned time = static_cast<unsigned>(row - begin);
    part.begin(l.in_vectors);
    if (thread == 0) {
      team.expect(most_box, warps * static_cast<int>(sizeof(float)));
      team.expect(f_box, sizeof(LogProb));
    }
    typename Loss<Element>::Label label;
    if (adds) {
      team.expect(sums_box,
                  warps * static_cast<int>(sizeof(int)) + (smooth ? 2 : 1) * tiles * static_cast<int>(sizeof(double)));
      if (row > begin) so_far.add(l, row - 1);  // while the copies are under way
      label = l.label_of(row);                  // asked for long before it is needed
    }
    Scores scores;
    scores.most = largest_of_lanes(part.read(l.in_vectors));
    if (lane < team_size) team.send(lane, most_of[rank * kWarps + warp], scores.most, most_box);
    __syncthreads();  // what a thread has copied is there for all
    team.wait(most_box, time);
#pragma unroll 1
    for (int i = lane; i < warps; i += 32) scores.most = std::fmax(scores.most, most_of[i]);
    scores.most = largest_of_lanes(scores.most) + 0.0f;

    // Of a row whose largest score is no number, too, though nothing comes of it: everybody waits for what is sent.
    for (int tile = thread / TileGroup<V>::kSize; tile * kTile < columns; tile += kGroups) {
      const int column = tile * static_cast<int>(kTile);
      const int n = columns - column < kTile ? columns - column : static_cast<int>(kTile);
      const TileScores<Element, true> in_tile{cache + tile * kWide, 1};
      const double below = sum_exponentials<shows_lse>(n, group, in_tile, scores.most, scores.times);
      if (group.rank == 0) team.send(0, sums[first_tile + tile], below, sums_box);
      if constexpr (smooth) {
        const double distance = sum_distances<V>(first + column, n, group, in_tile, scores.most, l.labels);
        if (group.rank == 0) team.send(0, distances[first_tile + tile], distance, sums_box);
      }
    }
    scores.times = add_lanes(scores.times);
    if (lane == 0) team.send(0, times_of[rank * kWarps + warp], scores.times, sums_box);
    if (rank == 0) {
      team.wait(sums_box, time);
      if (warp == 0) {
        if constexpr (smooth) {
#pragma unroll 1  // the code is there once: registers are scarce
          for (double* of : {distances, sums}) {
            scores.distance = scores.below;
            scores.below = sum_of_tiles(of, tiles);
          }
        } else {
          scores.below = sum_of_tiles(sums, tiles);
        }
        scores.times = 0;
#pragma unroll 1
        for (int i = lane; i < warps; i += 32) scores.times += times_of[i];
        scores.times = add_lanes(scores.times);
        const double log_sum = scores.log_sum();
        if (lane == 0) {
          so_far.label = label;  // has come before others know f and may write over its score
          so_far.scores = scores;
          so_far.log_sum = log_sum;
        }
        if (lane < team_size) team.send(lane, f_of_row, scores.log_prob(log_sum), f_box);
      }
    }
    team.wait(f_box, time);
    part.write(f_of_row, l.log_prob + row * l.a.log_prob.row + first * l.a.log_prob.column, l.a.log_prob.column,
               l.in_vectors);
  }
  if (adds) {
    so_far.add(l, end - 1);  // there is no team without a row
    l.add_counted(so_far.counted);
  }
  l.add_parts();
}

}  // namespace descend::cuda
