// SPDX-License-Identifier: MIT
// The sum of the smooth L1 loss of operands of one dtype that lie one after the other in memory, on NVIDIA GPUs: a
// stream through shared memory.
#pragma once
#include "ops/smooth_l1_loss/smooth_l1_loss_sum_cuda.cuh"

namespace descend::cuda {
namespace {

// Each warp of a block has some tiles of a chunk, and copies stages of these to shared memory well before it adds them,
// so that it never stops reading: not for what follows on a chunk's last tile, either.  Blocks take chunks as they come
// along: not all multiprocessors get the same share of the memory's bandwidth, and with as many chunks each they worked
// 79 % of the time.  Many warps have a chunk together, so that in the end no block has much left to do.
template <class Element, int warps, int stages> struct LossOfLine {
  using T = std::conditional_t<std::is_same_v<Element, float>, double, float>;
  using Piece = Vector<Element>;
  static constexpr bool kTimesBeta = std::is_same_v<T, double>;
  static constexpr int V = Piece::kCount, kLanes = ColumnsOfTile<T, V, kTimesBeta>::kLanes;
  static constexpr int kWarps = warps, kThreads = 32 * kWarps, kTilesOfWarp = 32 / kLanes;
  static constexpr int kPieces = 32;  // of a tile in a stage: each lane copies one
  static constexpr int kStages = stages, kStagesOfTile = static_cast<int>(kTile) / (V * kPieces);
  static constexpr int kStagesOfChunk = static_cast<int>(kTilesOfChunk) / (kWarps * kTilesOfWarp) * kStagesOfTile;
  static_assert(kTilesOfChunk % (kWarps * kTilesOfWarp) == 0 && kStages - 1 <= kStagesOfChunk);
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
    return or_in_double(tile_in<T, kTimesBeta>(first, n), first, n);
  }
  // `sum`, the tile's in T, where that is finite; otherwise it is added again, in double.
  __device__ __forceinline__ double or_in_double(double sum, int64_t first, int n) const {
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
  const auto take = [&] { return thread == 0 ? gridDim.x + take_unit(scratch) : 0; };
  const unsigned second = take();
  if (thread == 0) taken[0] = blockIdx.x;
  __syncthreads();
  const auto tile_of = [&](int stage) {  // the warp's first, in the chunk
    return stage / L::kStagesOfTile * kTilesOfRound + warp * L::kTilesOfWarp;
  };
  int slot_asked = 0;
  // Stage `stage` of the block's chunk `number`; beyond its last, of the next chunk.
  const auto ask_for = [&](unsigned number, int stage) {
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
      const double sum =
          of.or_in_double(columns.sum(), chunk * kChunk + number_of_tile * kTile, static_cast<int>(kTile));
      columns = decltype(columns)(of.loss);
      if (rank == 0) sums[number_of_tile] = sum;
    }
    if (thread == 0) taken[(number + 2) % kKnown] = next_but_one;
    keep_chunk(chunk, sums, static_cast<int>(kTilesOfChunk));
  }

  // The rest of the last one.
  if (const int64_t rest = cut.count - whole * kChunk; rest > 0 && blockIdx.x == whole % gridDim.x) {
    __syncthreads();
    for (int i = thread / L::kLanes; i * kTile < rest; i += kTilesOfRound) {
      const int64_t left = rest - i * kTile;
      const double sum = of.tile(whole * kChunk + i * kTile, static_cast<int>(left < kTile ? left : kTile));
      if (rank == 0) parts[0][i] = sum;
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

}  // namespace
}  // namespace descend::cuda
