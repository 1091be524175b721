// SPDX-License-Identifier: MIT
// What the kernels of the cross entropy do alike with a row's scores: its loss, and the sum over all rows.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cuda.cuh"

namespace descend::cuda {

// Sums over a part of the rows, and where they are among the numbers of the scratch.
enum List { kLosses, kZlosses, kLists };
inline constexpr int64_t kParts = CrossEntropyRowCut::kBlocks * CrossEntropyRowCut::kPartsOfBlock;
inline constexpr int kSumsOfParts = 16;
static_assert(kSumsOfParts > kAllWeights && kSumsOfParts + kLists * kParts <= CudaScratch::kNumbers);
inline constexpr int kLeastThreads = 64;  // of a block that adds them

struct RowLoss {
  double loss = 0, zloss = 0;
  int counted = 0;
};

// The sums of losses, and of zlosses if there are as many lists, over parts of the rows, to which a warp adds kBatch
// rows at a time, a lane's each.
template <int kBatch, int lists = kLists> class LossesOfRows {
 public:
  // Rows from number `first` on, of which there are `rows`; what a lane has that is not among them is 0.
  template <class L> __device__ __forceinline__ void add(const L& l, int64_t first, int rows, const RowLoss& row) {
    constexpr int kColumns = static_cast<int>(kSumColumns<double>);
    const int64_t per_part = l.cut.per_part;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double sum[lists] = {row.loss};
    if constexpr (lists > 1) sum[kZlosses] = row.zloss;
    counted_ += row.counted;
    if (l.a.reduction == CrossEntropyReduction::kNone) return;
    const int width = static_cast<int>(per_part < kColumns ? per_part : kColumns);  // lanes of a part
    if (per_part > kColumns) {
#pragma unroll
      for (int list = 0; list < lists; ++list) {
        column_[list] += sum[list];
        if constexpr (kBatch > kColumns) column_[list] += __shfl_down_sync(~0u, sum[list], kColumns);
      }
      const int64_t end = first + kBatch;
      if (end < l.a.labels.rows && (end & (per_part - 1)) != 0) return;
#pragma unroll
      for (int list = 0; list < lists; ++list) sum[list] = column_[list], column_[list] = 0;
      rows = 1;  // one part: the first lane has it
    }
#pragma unroll 1
    for (int step = width / 2; step > 0; step /= 2)
#pragma unroll
      for (int list = 0; list < lists; ++list)
        sum[list] += __shfl_down_sync(~0u, sum[list], static_cast<unsigned>(step));
    if (lane % width == 0 && lane < rows)
      for (int list = 0; list < lists; ++list) l.keep_sum(list, l.cut.part_of(first + lane), sum[list]);
  }
  // When there is no more row.
  template <class L> __device__ __forceinline__ void end(const L& l) {
    const int counted = add_lanes(counted_);
    if (threadIdx.x % 32 == 0) l.add_counted(counted);
  }

 private:
  double column_[lists] = {};
  int counted_ = 0;
};

// Rows that are taken at a time: a part, or several of one block up to so many rows as are enough, a power of two.
inline __host__ __device__ int64_t unit_of_rows(const CrossEntropyRowCut& cut, int enough) {
  if (cut.per_part >= enough) return cut.per_part;
  return cut.per_block < enough ? cut.per_block : enough;
}

template <class Element> struct Loss {
  CrossEntropyLossArgs a;
  Labels labels;
  const Element* input;
  Element *loss, *log_prob, *zloss, *lse;
  CudaScratch* scratch;
  CrossEntropyRowCut cut;
  RowsAre rows_are;

  __device__ __forceinline__ const Element* at(int64_t row, int64_t column) const {
    return input + row * a.input.row + column * a.input.column;
  }
  // A row's label, with its score before that is written over.
  struct Label {
    bool counts = false;
    float weight;
    Element score;
  };
  __device__ __forceinline__ Label label_of(int64_t row, int64_t label) const {
    return label == kNoClass ? Label{} : Label{true, labels.weight_of(label), *at(row, label)};
  }
  __device__ __forceinline__ Label label_of(int64_t row) const { return label_of(row, labels[row]); }
  __device__ RowLoss finish(int64_t row, const Label& label, float most, double distance, double log_sum) const;
  // The sum of a list over a part of the rows; when all are there add_parts makes the total.
  __device__ __forceinline__ void keep_sum(int list, int64_t part, double sum) const {
    if (a.reduction != CrossEntropyReduction::kNone) scratch->numbers[kSumsOfParts + list * kParts + part] = sum;
  }
  // Rows that count: whole numbers, in any order.
  __device__ __forceinline__ void add_counted(int rows) const {
    if (counts_rows() && rows > 0) atomicAdd(&scratch->counts, static_cast<unsigned long long>(rows));
  }
  // Without weights a mean needs whole numbers only, whose sum is the same in any order: no kernel of its own.
  __host__ __device__ bool counts_rows() const {
    return a.reduction == CrossEntropyReduction::kMean && labels.weight == nullptr;
  }
  __device__ void add_parts(bool took_tickets = false) const;
  __device__ void ask_early_for_parts() const;
  __device__ void store_total(double loss_total, double zloss_total, double counted) const;
};

// f<how the rows of a kernel are, whether there is smoothing>(); one of kAnyhow is for what has none of its own.
template <class Element, class F> auto for_rows_of(const Loss<Element>& l, const F& f) {
  const bool smooth = l.a.smoothing != 0;
  if (l.rows_are == RowsAre::kInPieces)
    return smooth ? f.template operator()<RowsAre::kInPieces, true>()
                  : f.template operator()<RowsAre::kInPieces, false>();
  if (l.rows_are == RowsAre::kTogether && !smooth) return f.template operator()<RowsAre::kTogether, false>();
  return f.template operator()<RowsAre::kAnyhow, true>();
}

template <class Element>
__device__ RowLoss Loss<Element>::finish(int64_t row, const Label& label, float most, double distance,
                                         double log_sum) const {
  const double lse_of_row = most + log_sum;
  if (a.write_zloss) lse[row * a.lse_stride] = narrow<Element>(lse_of_row);
  RowLoss r;
  if (label.counts) {
    r.counted = 1;
    const double of_label = widen<double>(label.score) - most - log_sum;
    r.loss = -(1 - a.smoothing) * double{label.weight} * of_label;
    if (a.smoothing != 0)
      r.loss -= a.smoothing / static_cast<double>(a.labels.classes) *
                (distance - log_sum * sum_of_all_weights(labels, scratch));
    if (a.zloss_scale != 0) r.zloss = a.zloss_scale * lse_of_row * lse_of_row;
  }
  if (a.reduction == CrossEntropyReduction::kNone) {
    loss[row * a.loss_stride] = narrow<Element>(r.loss + r.zloss);
    if (a.write_zloss) zloss[row * a.zloss_stride] = narrow<Element>(r.zloss);
  }
  return r;
}

template <class Element>
__device__ void Loss<Element>::store_total(double loss_total, double zloss_total, double counted) const {
  if (a.reduction == CrossEntropyReduction::kMean) {
    loss_total /= counts_rows() ? counted : scratch->numbers[kWeights];
    if (a.zloss_scale != 0 || a.write_zloss) zloss_total /= counts_rows() ? counted : scratch->numbers[kRows];
  }
  *loss = narrow<Element>(a.zloss_scale != 0 ? loss_total + zloss_total : loss_total);
  if (a.write_zloss) *zloss = narrow<Element>(zloss_total);
}

// The last block waits for sums of parts that were written long before, as if they had left the L2 cache.  Each block
// asks for some before it ends.
template <class Element> __device__ __forceinline__ void Loss<Element>::ask_early_for_parts() const {
  constexpr int kSector = 32 / sizeof(double);  // what is fetched at once
  const int lists = a.shows_lse() ? kLists : 1, last = static_cast<int>(cut.part_of(a.labels.rows - 1));
  for (int part = static_cast<int>(blockIdx.x + threadIdx.x * gridDim.x) * kSector; part <= last;
       part += static_cast<int>(gridDim.x * blockDim.x) * kSector)
    for (int list = 0; list < lists; ++list) ask_early(scratch->numbers + kSumsOfParts + list * kParts + part);
}

// By the last block of threads that comes here: the parts of each block of rows as a tree, then the blocks, in tiles as
// sums.h has them.  A column of a tile has as many threads as add a block's parts.
template <class Element> __device__ __forceinline__ void Loss<Element>::add_parts(bool took_tickets) const {
  const bool none = a.reduction == CrossEntropyReduction::kNone;
  if (!none) ask_early_for_parts();
  if ((none && !took_tickets) || !is_last_block(&scratch->tickets[kBlocksDone])) return;
  if (threadIdx.x == 0) scratch->tickets[kUnitsTaken] = 0;  // for the next launch
  if (none) return;
  constexpr int kLanes = static_cast<int>(CrossEntropyRowCut::kPartsOfBlock) / 2, kOfTile = TileGroup<1>::kSize;
  constexpr int kTiles = static_cast<int>(CrossEntropyRowCut::kBlocks / kTile), kColumns = kTiles * kOfTile;
  constexpr int kLines = static_cast<int>(kTile) / kOfTile, kAtOnce = 8;
  static_assert(kTiles <= kTilesOfChunk, "one chunk of blocks");
  static_assert(kColumns <= kLeastThreads && kColumns * kLanes % 32 == 0 && kLines % kAtOnce == 0);
  __shared__ double column_of[kColumns], tile_of[kTiles], totals[kLists];
  const TileGroup<1> group;
  const int thread = static_cast<int>(threadIdx.x), rank = thread % kLanes;
  const int parts = static_cast<int>(cut.part_of(a.labels.rows - 1)) + 1;
  const int of_block = static_cast<int>(cut.per_block / cut.per_part);
  if (thread < kLists) totals[thread] = 0;
  for (int list = 0; list < (a.shows_lse() ? kLists : 1); ++list) {
    const double* const numbers = scratch->numbers + kSumsOfParts + list * kParts;
#pragma unroll 1
    for (int column = thread / kLanes; column < kColumns; column += static_cast<int>(blockDim.x) / kLanes) {
      const int first = column / kOfTile * static_cast<int>(kTile) + column % kOfTile;
      int number = first * of_block + rank;  // of a block's parts this thread has two, if there are as many
      const int end = rank < of_block ? parts : 0, end_of_other = rank + kLanes < of_block ? parts - kLanes : 0;
      const double* at = numbers + number;
      double sum = 0;
#pragma unroll 1
      for (int line = 0; line < kLines; line += kAtOnce) {
        double part[kAtOnce][2];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i, number += kOfTile * of_block, at += kOfTile * of_block) {
          part[i][0] = number < end ? __ldcg(at) : 0;
          part[i][1] = number < end_of_other ? __ldcg(at + kLanes) : 0;
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          double of_block_of_rows[1] = {part[i][0] + part[i][1]};
          sum += add_columns<1, kLanes>(of_block_of_rows, ~0u);
        }
      }
      if (rank == 0) column_of[column] = sum;
    }
    __syncthreads();
    if (thread < kColumns) {
      double columns[1] = {column_of[thread]};
      const double sum = add_columns<1>(columns, group.mask);
      if (group.rank == 0) tile_of[thread / kOfTile] = sum;
    }
    __syncthreads();
    if (thread < kOfTile) {
      const double sum = sum_of(kTiles, group, [&](int i) { return tile_of[i]; });
      if (thread == 0) totals[list] = sum;
    }
  }
  __syncthreads();
  if (thread != 0) return;
  store_total(totals[kLosses], totals[kZlosses], static_cast<double>(__ldcg(&scratch->counts)));
  scratch->counts = 0;  // for the next launch
}

}  // namespace descend::cuda
