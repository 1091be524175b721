// SPDX-License-Identifier: MIT
// The cross entropy of rows longer than a tile, on GPUs: one row after the other, each by all threads of a team of
// blocks.
//
// The largest score must be known before the exponentials are added, and their sum before the row is written, so a
// block often waits.  Blocks are small, for several to be on a multiprocessor and one to compute while another reads or
// writes; but not more than leave registers for everything.  A team's barrier empties the L1 cache, and what was
// spilled there is far away then: with four blocks and some bytes spilled, rows of 32000 float16 took half as long
// again.  A row that is too long for one block's shared memory is kept in that of up to eight, where the card can form
// such teams (clusters, compute capability 9.0); what fits nowhere is read three times.
#pragma once
#include <cooperative_groups.h>

#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"

namespace descend::cuda {

inline constexpr int kLongThreads = 256;
inline constexpr int64_t kBlockMemory = 74 << 10;  // bytes: three blocks fit beside each other

// Tiles in shared memory lie a little more than their size apart, so that groups do not meet in a bank.
inline constexpr int kSkew = 16;
template <class Index> __device__ __forceinline__ Index place_in_cache(Index c) {
  return c + c / static_cast<Index>(kTile) * kSkew;
}

// The blocks that share a row.
struct Team {
#if __CUDA_ARCH__ >= 900
  __device__ int size() const { return static_cast<int>(cooperative_groups::this_cluster().num_blocks()); }
  __device__ int rank() const { return static_cast<int>(cooperative_groups::this_cluster().block_rank()); }
  __device__ void wait() const { cooperative_groups::this_cluster().sync(); }
  template <class T> __device__ T* of(int rank, T* mine) const {
    return cooperative_groups::this_cluster().map_shared_rank(mine, static_cast<unsigned>(rank));
  }
#else
  __device__ int size() const { return 1; }
  __device__ int rank() const { return 0; }
  __device__ void wait() const { __syncthreads(); }
  template <class T> __device__ T* of(int, T* mine) const { return mine; }
#endif
};

// A row's scores from the first tile of this block on: in shared memory or where they are.
template <class Element, bool cached> struct PartOfRow {
  using Index = std::conditional_t<cached, int, int64_t>;  // what is kept in shared memory is not so long
  static constexpr int kPiece = Vector<Element>::kCount;
  const Element* from;
  int64_t stride;
  Element* cache;
  Index columns;

  // Reads all, into the cache if there is one, and returns the largest of this thread's.
  __device__ __forceinline__ float read(bool in_vectors) const {
    float most = -std::numeric_limits<float>::infinity();
    if (in_vectors) {
      Vector<Element> at_place;
      for (Element& each : at_place.at) each = narrow<Element>(most);
      const auto in_cache = [&](Index c) { return reinterpret_cast<Vector<Element>*>(cache + place_in_cache(c)); };
      const auto in_memory = [&](Index c) { return reinterpret_cast<const Vector<Element>*>(from + c); };
      constexpr int kStep = kLongThreads * kPiece;
      const Index begin = static_cast<int>(threadIdx.x) * kPiece;
      if constexpr (cached) {  // all are asked for at once: registers would hold a few only
#pragma unroll 4
        for (Index c = begin; c < columns; c += kStep) begin_copy(in_cache(c), in_memory(c));
        wait_for_copies();
      }
#pragma unroll 4
      for (Index c = begin; c < columns; c += kStep)
        keep_larger(at_place.at, (cached ? in_cache(c) : in_memory(c))->at);
#pragma unroll
      for (const Element each : at_place.at) most = std::fmax(most, widen<float>(each));
    } else {
      for (Index c = static_cast<int>(threadIdx.x); c < columns; c += kLongThreads) {
        const Element one = from[c * stride];
        if (cached) cache[place_in_cache(c)] = one;
        most = std::fmax(most, widen<float>(one));
      }
    }
    return most;
  }
  __device__ __forceinline__ void write(const LogProb& log_prob, Element* to, int64_t to_stride,
                                        bool in_vectors) const {
    if (in_vectors) {
#pragma unroll 2
      for (Index c = static_cast<int>(threadIdx.x) * kPiece; c < columns; c += kLongThreads * kPiece) {
        Vector<Element> piece =
            *reinterpret_cast<const Vector<Element>*>(cached ? cache + place_in_cache(c) : from + c);
        float result[kPiece];
#pragma unroll
        for (int i = 0; i < kPiece; ++i) result[i] = log_prob(widen<float>(piece.at[i]));
        narrow_all(result, piece.at);
        store_at_once(to + c, piece);
      }
    } else {
      for (Index c = static_cast<int>(threadIdx.x); c < columns; c += kLongThreads)
        to[c * to_stride] =
            narrow<Element>(log_prob(widen<float>(cached ? cache[place_in_cache(c)] : from[c * stride])));
    }
  }
};

// What SumOfTiles adds up of all tiles' sums, a thread a chunk, in the block's first thread; writes over them.
__device__ __forceinline__ double add_chunks(double* sums, int tiles, int64_t count) {
  const int per_chunk = static_cast<int>(tiles_per_chunk(count)), begin = static_cast<int>(threadIdx.x) * per_chunk;
  if (begin < tiles) {
    const int end = begin + per_chunk < tiles ? begin + per_chunk : tiles;
    CompensatedSum chunk;
#pragma unroll 8
    for (int i = begin; i < end; ++i) chunk.add(sums[i]);
    sums[begin] = chunk.value();
  }
  __syncthreads();
  CompensatedSum all;
  if (threadIdx.x == 0)
    for (int i = 0; i < tiles; i += per_chunk) all.add(sums[i]);
  return all.value();
}

// `sums_at_once`: how many tiles' sums there is room for behind the cache.
template <class Element, bool cached, bool shows_lse>
__global__ void __launch_bounds__(kLongThreads, 3)
    long_rows(const __grid_constant__ Loss<Element> l, int tiles_of_block, int sums_at_once) {
  using Part = PartOfRow<Element, cached>;
  using Index = typename Part::Index;
  constexpr int V = 4 / sizeof(Element);  // columns of a thread
  static_assert(kSumChunks <= kLongThreads);
  constexpr int kGroups = kLongThreads / TileGroup<V>::kSize, kWarps = kLongThreads / 32;
  constexpr int kWide = static_cast<int>(kTile) + kSkew;  // of a tile in the cache
  double* const sums = shared_memory<double>();           // of exponentials, then of distances; the first block's
  double* const distances = sums + sums_at_once;
  Element* const cache = reinterpret_cast<Element*>(distances + (l.a.smoothing != 0 ? sums_at_once : 0));
  __shared__ float most_of[kWarps], most_of_block;
  __shared__ int times, counted;
  __shared__ LogProb f;
  const Team team;
  const int team_size = team.size(), rank = team.rank(), thread = static_cast<int>(threadIdx.x);
  const bool adds = rank == 0 && thread == 0;
  const int64_t begin = blockIdx.x / team_size * l.per_block;
  const int64_t end = begin + l.per_block < l.a.labels.rows ? begin + l.per_block : l.a.labels.rows;
  const Index classes = static_cast<Index>(l.a.labels.classes), tiles = (classes - 1) / static_cast<Index>(kTile) + 1;
  const Index first_tile = static_cast<Index>(rank) * tiles_of_block;
  const Index first = first_tile * static_cast<Index>(kTile);
  const Index mine = tiles_of_block == 0 ? classes : static_cast<Index>(tiles_of_block) * static_cast<Index>(kTile);
  const Index columns = classes - first < mine ? (classes > first ? classes - first : 0) : mine;
  const Index end_tile = first_tile + (columns + static_cast<Index>(kTile) - 1) / static_cast<Index>(kTile);
  const TileGroup<V> group;
  const int number = thread / TileGroup<V>::kSize;
  CompensatedSum loss_sum, zloss_sum;
  if (adds) counted = 0;
  for (int64_t row = begin; row < end; ++row) {
    const Part part{l.at(row, first), l.a.input.column, cache, columns};
    typename Loss<Element>::Label label;
    if (adds) label = l.label_of(row);  // asked for long before it is needed
    Scores scores;
    scores.most = part.read(l.in_vectors);
    for (int step = 16; step > 0; step /= 2)
      scores.most = std::fmax(scores.most, __shfl_xor_sync(~0u, scores.most, step));
    if (thread % 32 == 0) most_of[thread / 32] = scores.most;
    __syncthreads();
    if (thread == 0) {
      times = 0;
      for (int warp = 1; warp < kWarps; ++warp) scores.most = std::fmax(scores.most, most_of[warp]);
      most_of_block = scores.most;
    }
    team.wait();
    for (int other = 0; other < team_size; ++other)
      scores.most = std::fmax(scores.most, *team.of(other, &most_of_block));
    scores.most += 0.0f;

    SumOfTiles below(classes), distance(classes);
    int equal = 0;
    for (Index round = 0; round < tiles && scores.is_number(); round += sums_at_once) {
      const Index round_end = round + sums_at_once < end_tile ? round + sums_at_once : end_tile;
      for (Index tile = (round > first_tile ? round : first_tile) + number; tile < round_end; tile += kGroups) {
        const Index column = (tile - first_tile) * static_cast<Index>(kTile);
        const int n = static_cast<int>(columns - column < kTile ? columns - column : kTile);
        const TileScores<Element, cached> in_tile{
            cached ? cache + (tile - first_tile) * kWide : part.from + column * part.stride, part.stride};
        const double sum = sum_exponentials<shows_lse>(n, group, in_tile, scores.most, equal);
        if (group.rank == 0) *team.of(0, sums + (tile - round)) = sum;
        if (l.a.smoothing != 0) {
          const double other = sum_distances<V>(first + column, n, group, in_tile, scores.most, l.labels);
          if (group.rank == 0) *team.of(0, distances + (tile - round)) = other;
        }
      }
      if (round + sums_at_once >= tiles) {
        for (int step = 16; step > 0; step /= 2) equal += __shfl_xor_sync(~0u, equal, step);
        if (thread % 32 == 0 && equal > 0) atomicAdd(team.of(0, &times), equal);  // a count has no order
      }
      team.wait();
      if constexpr (cached) {  // there is one round
        if (rank != 0) break;
        scores.below = add_chunks(sums, static_cast<int>(tiles), classes);
        if (l.a.smoothing != 0) scores.distance = add_chunks(distances, static_cast<int>(tiles), classes);
        break;
      } else if (adds) {
        const int there = static_cast<int>(tiles - round < sums_at_once ? tiles - round : sums_at_once);
        below.add(sums, there);
        if (l.a.smoothing != 0) distance.add(distances, there);
      }
      if (round + sums_at_once < tiles) team.wait();
    }
    double log_sum = 0;
    if (adds) {
      scores.times = times;
      if (!cached) scores.below = below.value();
      if (!cached) scores.distance = distance.value();
      log_sum = scores.log_sum();
      f = scores.log_prob(log_sum);
    }
    team.wait();
    if (adds) {  // while the others write
      const RowLoss of_row = l.finish(row, label, scores, log_sum);
      loss_sum.add(of_row.loss);
      zloss_sum.add(of_row.zloss);
      counted += of_row.counted;
    }
    part.write(*team.of(0, &f), l.log_prob + row * l.a.log_prob.row + first * l.a.log_prob.column, l.a.log_prob.column,
               l.in_vectors);
    __syncthreads();
  }
  team.wait();  // nobody ends while another may look into its memory
  if (adds) {
    l.keep_sum(kLosses, blockIdx.x / team_size, loss_sum.value());
    l.keep_sum(kZlosses, blockIdx.x / team_size, zloss_sum.value());
    l.keep_sum(kCounted, blockIdx.x / team_size, counted);
  }
  l.add_blocks(gridDim.x / team_size);
}

}  // namespace descend::cuda
