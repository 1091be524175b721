// SPDX-License-Identifier: MIT
// The sum of the smooth L1 loss over all points on NVIDIA GPUs.
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

// self and target of one dtype, one after the other in memory.  Each warp of a block has some tiles of a chunk, and
// copies stages of these to shared memory well before it adds them, so that it never stops reading: not for what
// follows on a chunk's last tile, either.  Blocks take chunks as they come along: not all multiprocessors get the same
// share of the memory's bandwidth, and with as many chunks each the last would end 20 % after the first.  Many warps
// have a chunk together, so that in the end no block has much left to do.
template <class Element, int warps, int stages> struct LossOfLine {
  using T = std::conditional_t<std::is_same_v<Element, float>, double, float>;
  using Piece = Vector<Element>;
  static constexpr bool kTimesBeta = std::is_same_v<T, double>;
  static constexpr int V = Piece::kCount, kLanes = ColumnsOfTile<T, V, kTimesBeta>::kLanes;
  static constexpr int kWarps = warps, kThreads = 32 * kWarps, kTilesOfWarp = 32 / kLanes;
  static constexpr int kPieces = 32;  // of a tile in a stage: each lane copies one
  static constexpr int kStages = stages, kStagesOfTile = static_cast<int>(kTile) / (V * kPieces);
  static constexpr int kStagesOfChunk = static_cast<int>(kTilesOfChunk) / (kWarps * kTilesOfWarp) * kStagesOfTile;
  struct Stage {
    Piece self[kTilesOfWarp][kPieces], target[kTilesOfWarp][kPieces];
  };
  static constexpr int kBytes = kWarps * kStages * static_cast<int>(sizeof(Stage));

  const Element *self, *target;
  Loss loss;

  // Where a piece lies in a stage: two tiles that are read at once keep off each other's banks.
  static __device__ __forceinline__ int place(int tile, int piece) { return piece ^ tile % 2 * kLanes; }
  // A tile of n terms from element `first` on, in the first of its threads.
  template <class Sum, bool times_beta> __device__ __noinline__ double tile_in(int64_t first, int n) const;
  __device__ __forceinline__ double tile(int64_t first, int n) const {
    return finite(tile_in<T, kTimesBeta>(first, n), first, n);
  }
  // `sum` if the tile's sum in T is finite.
  __device__ __forceinline__ double finite(double sum, int64_t first, int n) const {
    if constexpr (!kTimesBeta)
      if (!std::isfinite(from_first<kLanes>(sum))) return tile_in<double, false>(first, n);
    return sum;
  }
};

template <class Element, int warps, int stages>
template <class Sum, bool times_beta>
__device__ __noinline__ double LossOfLine<Element, warps, stages>::tile_in(int64_t first, int n) const {
  constexpr int kColumns = static_cast<int>(kSumColumns<Sum>), kPer = kColumns / kLanes;
  using Some = Columns<Element, kPer>;
  ColumnsOfTile<Sum, kPer, times_beta> columns(loss);
  const int begin = static_cast<int>(threadIdx.x) % kLanes * kPer;
  const Element *const a = self + first, *const b = target + first;
  if (n == kTile) {
#pragma unroll 8
    for (int i = begin; i < kTile; i += kColumns) {
      const Some x = *reinterpret_cast<const Some*>(a + i), y = *reinterpret_cast<const Some*>(b + i);
#pragma unroll
      for (int j = 0; j < kPer; ++j) columns.add(j, x.at[j], y.at[j]);
    }
  } else {
    for (int i = begin; i < n; i += kColumns)
#pragma unroll
      for (int j = 0; j < kPer; ++j)
        if (i + j < n) columns.add(j, a[i + j], b[i + j]);
  }
  return columns.sum();
}

template <class L, class Finish>
__global__ void __launch_bounds__(L::kThreads)
    sum_chunks(const __grid_constant__ L of, SumCut cut, CudaScratch* scratch, Finish finish) {
  using Stage = typename L::Stage;
  using Piece = typename L::Piece;
  constexpr int kTilesOfRound = L::kWarps * L::kTilesOfWarp;
  __shared__ double parts[2][kTilesOfChunk];  // of a chunk and of the one before
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int tile = lane / L::kLanes, rank = lane % L::kLanes;
  const auto keep_chunk = [&](int64_t chunk, const double* sums, int n) {
    __syncthreads();
    const TileGroup<1> group;
    if (thread >= TileGroup<1>::kSize) return;
    const double sum = sum_of(n, group, [&](int i) { return sums[i]; });
    if (thread == 0) scratch->units[chunk] = sum;
  };

  // Whole chunks, in stages.  A block begins with its own number; which chunk is the next but one it asks for when it
  // begins with one.
  constexpr int kKnown = 4;
  __shared__ unsigned taken[kKnown];
  Stage* const ring = shared_memory<Stage>() + warp * L::kStages;
  const int64_t whole = cut.count / kChunk;
  const auto take = [&] { return thread == 0 ? gridDim.x + atomicAdd(&scratch->tickets[kChunksTaken], 1u) : 0; };
  const unsigned second = take();
  if (thread == 0) taken[0] = blockIdx.x;
  __syncthreads();
  const auto tile_of = [&](int stage) {  // the warp's first, in the chunk
    return stage / L::kStagesOfTile * kTilesOfRound + warp * L::kTilesOfWarp;
  };
  int slot_asked = 0;
  const auto ask_for = [&](unsigned number, int stage) {  // of the block's chunks, and of the one that it is
    if (stage >= L::kStagesOfChunk) ++number, stage -= L::kStagesOfChunk;
    if (const int64_t chunk = taken[number % kKnown]; chunk < whole) {
      const int piece = stage % L::kStagesOfTile * L::kPieces + lane;
      const int64_t first = chunk * kChunk + tile_of(stage) * kTile + piece * L::V;
      Stage& to = ring[slot_asked];
#pragma unroll
      for (int t = 0; t < L::kTilesOfWarp; ++t) {
        const int64_t at = first + t * kTile;
        begin_copy(&to.self[t][L::place(t, lane)], reinterpret_cast<const Piece*>(of.self + at));
        begin_copy(&to.target[t][L::place(t, lane)], reinterpret_cast<const Piece*>(of.target + at));
      }
      slot_asked = slot_asked + 1 == L::kStages ? 0 : slot_asked + 1;
    }
    end_batch_of_copies();
  };
  for (int i = 0; i + 1 < L::kStages; ++i) ask_for(0, i);
  static_assert(L::kStages - 1 <= L::kStagesOfChunk);
  if (thread == 0) taken[1] = second;
  __syncthreads();
  int slot = 0;
  for (unsigned number = 0; taken[number % kKnown] < whole; ++number) {
    const int64_t chunk = taken[number % kKnown];
    const unsigned next_but_one = take();
    double* const sums = parts[number % 2];
    ColumnsOfTile<typename L::T, L::V, L::kTimesBeta> columns(of.loss);
#pragma unroll 1
    for (int stage = 0; stage < L::kStagesOfChunk; ++stage) {
      wait_for_batches_but<L::kStages - 2>();
      __syncwarp();  // what the other lanes copied is there, and they have read the stage that is written over
      ask_for(number, stage + L::kStages - 1);
      const Stage& now = ring[slot];
#pragma unroll
      for (int piece = rank; piece < L::kPieces; piece += L::kLanes) {
        const Piece a = now.self[tile][L::place(tile, piece)], b = now.target[tile][L::place(tile, piece)];
#pragma unroll
        for (int j = 0; j < L::V; ++j) columns.add(j, a.at[j], b.at[j]);
      }
      slot = slot + 1 == L::kStages ? 0 : slot + 1;
      if ((stage + 1) % L::kStagesOfTile != 0) continue;
      const int number_of_tile = tile_of(stage) + tile;
      const double sum = of.finite(columns.sum(), chunk * kChunk + number_of_tile * kTile, static_cast<int>(kTile));
      columns = decltype(columns)(of.loss);
      if (rank == 0) sums[number_of_tile] = sum;
    }
    if (thread == 0) taken[(number + 2) % kKnown] = next_but_one;
    keep_chunk(chunk, sums, static_cast<int>(kTilesOfChunk));
  }

  // The rest of the last one.
  if (const int64_t rest = cut.count - whole * kChunk; rest > 0 && blockIdx.x == whole % gridDim.x) {
    __syncthreads();
    for (int number = thread / L::kLanes; number * kTile < rest; number += kTilesOfRound) {
      const int64_t left = rest - number * kTile;
      const double sum = of.tile(whole * kChunk + number * kTile, static_cast<int>(left < kTile ? left : kTile));
      if (rank == 0) parts[0][number] = sum;
    }
    keep_chunk(whole, parts[0], static_cast<int>((rest - 1) / kTile) + 1);
  }
  sum_units<1>(cut, scratch, finish);
}

// Whether sum_line takes so many: it keeps the sum of every chunk.
inline bool fits_line(int64_t count) { return SumCut(count, 1, SumCut::kOfChunk).unit == SumCut::kOfChunk; }
template <class Element, class Finish>
Status sum_line(const Element* self, const Element* target, const Loss& loss, int64_t count, const Finish& finish,
                const CudaLaunch& on) {
  const auto run = [&]<class L>(const L& of) {
    const SumCut cut(count, 1, SumCut::kOfChunk);
    const int64_t at_once = on.multiprocessors * std::max(on.shared_memory / L::kBytes, 1);
    return start(on, sum_chunks<L, Finish>, std::min(cut.blocks(1), at_once), L::kThreads, L::kBytes, of, cut,
                 on.scratch, finish);
  };
  using Large = LossOfLine<Element, 8, 3>;  // 192 KiB; the other 64, which every card has
  constexpr int kOther = 4 << 10;           // bytes of shared memory that have names
  return Large::kBytes + kOther <= on.shared_memory ? run(Large{self, target, loss})
                                                    : run(LossOfLine<Element, 4, 2>{self, target, loss});
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
