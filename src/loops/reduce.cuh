// SPDX-License-Identifier: MIT
// Sums on the GPU, with the additions of sums.h: the same bits as on the CPU.
//
//   sum<lists>(count, terms, finish, on)   calls finish(totals) on one thread, with the sums of so many lists of terms
//
// Blocks keep sums of tiles in the stream's scratch, or of chunks, or of groups where there are many; the block that is
// done last adds those.
#pragma once
#include "src/loops/columns.cuh"
#include "src/loops/elements.cuh"

namespace descend::cuda {

inline constexpr int kSumThreads = 512;

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

// Tickets of the scratch: how many blocks are done, and how many units of work are taken where blocks, or warps, take
// them as they come along.
inline constexpr int kBlocksDone = 0, kUnitsTaken = 1;
// A unit that nobody has taken, by one thread, which need not wait for its number before it needs it: atomicAdd the
// compiler would turn into one for all threads of a warp that might come here, and they would wait for it.
inline constexpr unsigned kMostUnits = 1u << 31;  // with all numbers it would be an addition again
__device__ __forceinline__ unsigned take_unit(CudaScratch* scratch) {
  return atomicInc(&scratch->tickets[kUnitsTaken], kMostUnits);
}

// How a sum is cut into units, whose sums are kept in the scratch: tiles, so that many blocks have some, or chunks, or
// groups.
struct SumCut {
  enum Unit : int { kOfTile, kOfChunk, kOfGroup };
  int64_t count, tiles, chunks, per_group;
  int groups;
  Unit unit;
  SumCut(int64_t terms, int lists, Unit smallest = kOfTile)
      : count(terms),
        tiles(ceil_divide(terms, kTile)),
        chunks(ceil_divide(terms, kChunk)),
        per_group(chunks_per_group(terms)),
        groups(static_cast<int>(ceil_divide(chunks, per_group))),
        unit(smallest == kOfTile && lists * tiles <= CudaScratch::kTiles ? kOfTile
             : lists * chunks <= CudaScratch::kChunks                    ? kOfChunk
                                                                         : kOfGroup) {}

  DESCEND_HOST_DEVICE int64_t units() const { return unit == kOfTile ? tiles : unit == kOfChunk ? chunks : groups; }
  int64_t blocks(int batch) const {
    return std::max<int64_t>(unit == kOfTile ? ceil_divide(tiles, batch) : units(), 1);
  }
};

// Adds the sums of all units and calls finish, in the last block.
template <int lists, class Finish>
__device__ __forceinline__ void sum_units(const SumCut& cut, CudaScratch* scratch, const Finish& finish) {
  if (!is_last_block(&scratch->tickets[kBlocksDone])) return;
  constexpr int kSize = TileGroup<1>::kSize;
  __shared__ double group_of[lists][kSumGroups], totals[lists];
  const TileGroup<1> group;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) scratch->tickets[kUnitsTaken] = 0;  // for the next launch
  const int64_t units = cut.units();
  const int64_t per_group = cut.unit == SumCut::kOfTile    ? cut.per_group * kTilesOfChunk
                            : cut.unit == SumCut::kOfChunk ? cut.per_group
                                                           : 1;
  for (int i = thread / kSize; i < lists * cut.groups; i += static_cast<int>(blockDim.x) / kSize) {
    const int list = i / cut.groups, number = i % cut.groups;
    const int64_t first = number * per_group;
    const double* const sums = scratch->units + list * units + first;
    const int n = static_cast<int>(units - first < per_group ? units - first : per_group);
    const auto at = [&](int k) { return __ldcg(sums + k); };
    const double sum = cut.unit == SumCut::kOfTile ? sum_of_chunks(n, group, at) : sum_of(n, group, at);
    if (group.rank == 0) group_of[list][number] = sum;
  }
  __syncthreads();
  if (const int list = thread / kSize; list < lists) {
    const double total = sum_of(cut.groups, group, [&](int i) { return group_of[list][i]; });
    if (group.rank == 0) totals[list] = total;
  }
  __syncthreads();
  if (thread == 0) finish(totals);
}

// A block's tiles, kBatch at a time: batch(first, n, at) puts the sums of tiles [first, first + n) of each list into
// `parts` from number `at` on.  Then all sums, and finish, in the last block.
template <int lists, int kBatch, int kParts, class Batch, class Finish>
__device__ __forceinline__ void sum_batches(const SumCut& cut, CudaScratch* scratch, double (&parts)[lists][kParts],
                                            const Batch& batch, const Finish& finish) {
  static_assert(kParts >= kBatch && kParts >= kTilesOfChunk);
  const int thread = static_cast<int>(threadIdx.x);
  const auto tiles_from = [&](int64_t first, int64_t most) {
    return static_cast<int>(cut.tiles - first < most ? cut.tiles - first : most);
  };
  if (cut.unit == SumCut::kOfTile) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kBatch;
    const int n = tiles_from(first, kBatch);
    batch(first, n, 0);
    __syncthreads();
    for (int i = thread; i < lists * kBatch; i += static_cast<int>(blockDim.x))
      if (i % kBatch < n) scratch->units[i / kBatch * cut.tiles + first + i % kBatch] = parts[i / kBatch][i % kBatch];
  } else {
    const TileGroup<1> group;
    const int list = thread / TileGroup<1>::kSize;
    const int64_t per_unit = cut.unit == SumCut::kOfChunk ? 1 : cut.per_group, first_chunk = blockIdx.x * per_unit;
    double column[1] = {};  // of the sums of the unit's chunks
    for (int64_t chunk = 0; chunk < per_unit && first_chunk + chunk < cut.chunks; ++chunk) {
      const int64_t first = (first_chunk + chunk) * kTilesOfChunk;
      const int n = tiles_from(first, kTilesOfChunk);
      for (int at = 0; at < n; at += kBatch) {
        batch(first + at, n - at < kBatch ? n - at : kBatch, at);
        __syncthreads();
      }
      if (list < lists) {
        const double sum = sum_of(n, group, [&](int i) { return parts[list][i]; });
        if (chunk % TileGroup<1>::kSize == group.rank) column[0] += sum;
      }
      __syncthreads();
    }
    if (list < lists) {
      const double sum = add_columns<1>(column, group.mask);
      if (group.rank == 0) scratch->units[list * cut.units() + blockIdx.x] = sum;
    }
  }
  sum_units<lists>(cut, scratch, finish);
}

// Terms that are given one at a time: of(i, values) writes one of each list.  All threads write terms of the batch to
// shared memory, then a group a tile adds them.
inline constexpr int kTermBatch = 4;
template <int lists, class Of, class Finish>
__global__ void __launch_bounds__(kSumThreads) sum_terms(Of of, SumCut cut, CudaScratch* scratch, Finish finish) {
  static_assert(kSumThreads == kTile);
  __shared__ double terms[lists * kTermBatch][kTile];
  __shared__ double parts[lists][kTilesOfChunk];
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
  static_assert(lists * kSumGroups <= CudaScratch::kUnits);
  const SumCut cut(count, lists);
  return start(on, sum_terms<lists, Of, Finish>, cut.blocks(kTermBatch), kSumThreads, 0, of, cut, on.scratch, finish);
}

// One number as an element, rounded to the dtype `rounded` first.
__device__ __forceinline__ void store_number(double v, DataType rounded, DataType dtype, void* to) {
  store_as(round_to(rounded, v), dtype, to, 0);
}

}  // namespace descend::cuda
