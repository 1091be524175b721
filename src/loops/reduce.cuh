// SPDX-License-Identifier: MIT
// Sums on the GPU, with the additions of sums.h: the same bits as on the CPU.
//
//   sum<lists>(count, terms, finish, on)   calls finish(totals) on one thread, with the sums of so many lists of terms
//
// Blocks add tiles and keep their sums in the stream's scratch; the block that is done last adds those.  Where there
// are more tiles than the scratch holds a block adds its tiles to the sum of the chunk, once the block before it has.
#pragma once
#include "src/loops/elements.cuh"
#include "src/loops/launch.cuh"
#include "src/loops/sums.h"

namespace descend::cuda {

inline constexpr int kSumThreads = 512;

// The sum of all columns, of which each of `columns` / V threads, `apart` in the warp, has V; in the first of them.
template <int V, int columns = static_cast<int>(kSumColumns<double>), int apart = 1>
__device__ __forceinline__ double add_columns(double (&column)[V], unsigned group) {
#pragma unroll
  for (int width = columns / 2; width > 0; width /= 2) {
    if (width >= V) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        column[j] += __shfl_down_sync(group, column[j], static_cast<unsigned>(width / V * apart));
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j)  // as many times whatever the width: the compiler knows each place
        if (j < width) column[j] += column[(j + width) % V];
    }
  }
  return column[0];
}

// The threads that add one tile together, as a warp's bits, and the number of this one among them.
template <int V> struct TileGroup {
  static constexpr int kSize = static_cast<int>(kSumColumns<double>) / V;
  int rank = static_cast<int>(threadIdx.x) % kSize;
  unsigned mask = ((1u << kSize) - 1) << (threadIdx.x % 32 / kSize * kSize);
};

// The sum of n <= kTile terms, in the group's first thread.  term(i, count, values) gives `count` <= V of them from
// number i on.
template <int V, class Term>
__device__ __forceinline__ double sum_tile(int n, const TileGroup<V>& group, const Term& term) {
  constexpr int kLanes = static_cast<int>(kSumColumns<double>);
  double column[V] = {};
#pragma unroll 4
  for (int i = group.rank * V; i < n; i += kLanes) {
    double value[V];
    const int count = n - i < V ? n - i : V;
    term(i, count, value);
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (j < count) column[j] += value[j];
  }
  return add_columns<V>(column, group.mask);
}

// True in the one block of the launch that gets here last; it sees what all others have written.  The first thread's
// fences stand for the whole block: each thread's own would wait for all that this thread has stored.
__device__ inline bool is_last_block(unsigned* ticket) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    if (last) *ticket = 0;  // for the next launch
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Tiles of a piece.
#ifndef DESCEND_EMULATED
inline constexpr int kPiece = 128;
#else
inline constexpr int kPiece = 12;  // tests have several of a chunk, and 12 does not divide it
#endif

// The number of this block among all of the launch, in the order in which they begin: those before it go on whatever
// this one does, and it may wait for them.
__device__ inline unsigned number_of_block(unsigned* ticket) {
  __shared__ unsigned number;
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
  __syncthreads();
  return number;
}

// How a sum is cut.
struct SumCut {
  int64_t count, tiles, per_chunk;
  int chunks;
  bool by_tile;  // their sums are all in the scratch; otherwise a chunk is added in pieces, by a block each
  int64_t pieces, per_piece;
  SumCut(int64_t terms, int lists)
      : count(terms),
        tiles(terms == 0 ? 0 : (terms - 1) / kTile + 1),
        per_chunk(terms == 0 ? 1 : tiles_per_chunk(terms)),
        chunks(static_cast<int>(ceil_divide(tiles, per_chunk))),
        by_tile(lists * tiles <= CudaScratch::kTiles),
        pieces(ceil_divide(per_chunk, kPiece)),
        per_piece(ceil_divide(per_chunk, pieces)) {}

  int64_t blocks(int batch) const {
    return std::max<int64_t>(by_tile ? ceil_divide(tiles, batch) : pieces * chunks, 1);
  }
};

// Sums of chunks lie in the scratch as pairs of numbers.
static_assert(alignof(CudaScratch) % alignof(double2) == 0 && offsetof(CudaScratch, numbers) % alignof(double2) == 0);

// Adds the n parts of a piece to the sum of its chunk, by one thread.
__device__ inline void add_piece(CudaScratch* scratch, int sum_number, unsigned piece, const double* parts, int n) {
  unsigned* const done = scratch->pieces + sum_number;
  double2* const kept = reinterpret_cast<double2*>(scratch->numbers) + sum_number;
  while (*const_cast<volatile unsigned*>(done) != piece) continue;
  __threadfence();
  CompensatedSum sum = piece == 0 ? CompensatedSum() : std::bit_cast<CompensatedSum>(__ldcg(kept));
#pragma unroll 8
  for (int i = 0; i < n; ++i) sum.add(parts[i]);
  *kept = std::bit_cast<double2>(sum);
  __threadfence();
  atomicAdd(done, 1u);
}

// A block's tiles, kBatch at a time: batch(first, n, at) puts the sums of tiles [first, first + n) of each list into
// `parts` from number `at` on.  Then all sums, and finish, in the last block.
template <int lists, int kBatch, int kParts, class Batch, class Finish>
__device__ __forceinline__ void sum_batches(const SumCut& cut, CudaScratch* scratch, double (&parts)[lists][kParts],
                                            const Batch& batch, const Finish& finish) {
  static_assert(kParts >= kBatch && kParts >= kPiece);
  __shared__ double totals[lists];
  const unsigned thread = threadIdx.x;
  if (cut.by_tile) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kBatch;
    const int n = static_cast<int>(cut.tiles - first < kBatch ? cut.tiles - first : kBatch);
    batch(first, n, 0);
    __syncthreads();
    for (int i = static_cast<int>(thread); i < lists * kBatch; i += static_cast<int>(blockDim.x))
      if (i % kBatch < n) scratch->tiles[i / kBatch * cut.tiles + first + i % kBatch] = parts[i / kBatch][i % kBatch];
  } else {
    // The first piece of every chunk, then the second: what a block goes on with has long been added when it is needed.
    const unsigned number = number_of_block(&scratch->tickets[1]);
    const int chunk = static_cast<int>(number % static_cast<unsigned>(cut.chunks));
    const unsigned piece = number / static_cast<unsigned>(cut.chunks);
    const int64_t begin = chunk * cut.per_chunk, first = begin + piece * cut.per_piece;
    int64_t end = first + cut.per_piece;
    if (end > begin + cut.per_chunk) end = begin + cut.per_chunk;
    if (end > cut.tiles) end = cut.tiles;
    const int n = static_cast<int>(end - first);
    for (int at = 0; at < n; at += kBatch) {
      batch(first + at, n - at < kBatch ? n - at : kBatch, at);
      __syncthreads();
    }
    if (thread < lists) add_piece(scratch, static_cast<int>(thread) * kSumChunks + chunk, piece, parts[thread], n);
  }
  if (!is_last_block(&scratch->tickets[0])) return;
  if (thread == 0) scratch->tickets[1] = 0;
  __shared__ double chunk_of[lists][kSumChunks];
  for (int i = static_cast<int>(thread); i < lists * cut.chunks; i += static_cast<int>(blockDim.x)) {
    const int list = i / cut.chunks, chunk = i % cut.chunks;
    if (cut.by_tile) {
      const int64_t begin = chunk * cut.per_chunk;
      const int n = static_cast<int>(begin + cut.per_chunk < cut.tiles ? cut.per_chunk : cut.tiles - begin);
      const double* const at = scratch->tiles + list * cut.tiles + begin;
      CompensatedSum sum;
#pragma unroll 8
      for (int t = 0; t < n; ++t) sum.add(__ldcg(at + t));
      chunk_of[list][chunk] = sum.value();
    } else {
      const int number = list * static_cast<int>(kSumChunks) + chunk;
      const double2 kept = __ldcg(reinterpret_cast<const double2*>(scratch->numbers) + number);
      chunk_of[list][chunk] = std::bit_cast<CompensatedSum>(kept).value();
      scratch->pieces[number] = 0;  // for the next launch
    }
  }
  __syncthreads();
  if (thread < lists) {
    CompensatedSum all;
#pragma unroll 8
    for (int chunk = 0; chunk < cut.chunks; ++chunk) all.add(chunk_of[thread][chunk]);
    totals[thread] = cut.count == 0 ? 0 : all.value();
  }
  __syncthreads();
  if (thread == 0) finish(totals);
}

// Terms that are given one at a time: of(i, values) writes one of each list.  All threads write terms of the batch to
// shared memory, then a group a tile adds them.
inline constexpr int kTermBatch = 4;
template <int lists, class Of, class Finish>
__global__ void __launch_bounds__(kSumThreads) sum_terms(Of of, SumCut cut, CudaScratch* scratch, Finish finish) {
  static_assert(kSumThreads == kTile);
  __shared__ double terms[lists * kTermBatch][kTile];
  __shared__ double parts[lists][kPiece];
  const TileGroup<1> group;
  const int tile_of_group = static_cast<int>(threadIdx.x) / TileGroup<1>::kSize;
  const auto batch = [&](int64_t first, int n, int at) {
#pragma unroll
    for (int t = 0; t < kTermBatch; ++t) {
      const int64_t i = (first + t) * kTile + threadIdx.x;
      double one[lists] = {};
      if (i < cut.count) of(i, one);  // behind the last zeros are added
#pragma unroll
      for (int list = 0; list < lists; ++list) terms[list * kTermBatch + t][threadIdx.x] = one[list];
    }
    __syncthreads();
    if (tile_of_group < lists * kTermBatch) {
      const double sum = sum_tile<1>(static_cast<int>(kTile), group,
                                     [&](int i, int, double(&value)[1]) { value[0] = terms[tile_of_group][i]; });
      const int tile = tile_of_group % kTermBatch;
      if (group.rank == 0 && tile < n) parts[tile_of_group / kTermBatch][at + tile] = sum;
    }
  };
  sum_batches<lists, kTermBatch>(cut, scratch, parts, batch, finish);
}

template <int lists, class Of, class Finish>
Status sum(int64_t count, const Of& of, const Finish& finish, const CudaLaunch& on) {
  static_assert(lists * kSumChunks <= CudaScratch::kPieces && 2 * lists * kSumChunks <= CudaScratch::kNumbers);
  const SumCut cut(count, lists);
  return start(on, sum_terms<lists, Of, Finish>, cut.blocks(kTermBatch), kSumThreads, 0, of, cut, on.scratch, finish);
}

// One number as an element, rounded to the dtype `rounded` first.
__device__ __forceinline__ void store_number(double v, DataType rounded, DataType dtype, void* to) {
  store_as(round_to(rounded, v), dtype, to, 0);
}

}  // namespace descend::cuda
