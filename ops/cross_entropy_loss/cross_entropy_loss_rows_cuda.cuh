// SPDX-License-Identifier: MIT
// What the kernels of the cross entropy do alike with a row's scores: its loss, and the sum over all rows.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cuda.cuh"

namespace descend::cuda {

inline constexpr int64_t kBlocks = 2048;
// Sums over a block's rows, and where they are among the numbers of the scratch.
enum List { kLosses, kZlosses, kCounted, kLists };
inline constexpr int kSumsOfBlocks = 16;
static_assert(kSumsOfBlocks > kAllWeights && kSumsOfBlocks + kLists * kBlocks <= CudaScratch::kNumbers);

struct RowLoss {
  double loss = 0, zloss = 0;
  int counted = 0;
};

// Two CompensatedSums, of losses and of zlosses, to which a warp adds kBatch rows at a time, in their order.  What an
// addition loses is known from the sum before it: while lanes 0 and 1 go on with the sums, lanes 2 and 3 add, by the
// same instructions, what the additions of the rows before have lost.
template <int kBatch> class LossesOfRows {
 public:
  struct Shared {
    double terms[4][kBatch];
  };
  __device__ explicit LossesOfRows(Shared& shared) : terms_(shared.terms), lane_(static_cast<int>(threadIdx.x) % 32) {
    if (lane_ < kBatch) terms_[2][lane_] = terms_[3][lane_] = 0;
  }
  // A lane's row; 0 for one that is not there.
  __device__ __forceinline__ void add(const RowLoss& row) {
    if (lane_ < kBatch) terms_[0][lane_] = row.loss, terms_[1][lane_] = row.zloss;
    __syncwarp();
    add_terms();
    __syncwarp();
    if (lane_ < kBatch) {
      terms_[2][lane_] = lost(terms_[0][lane_], row.loss);
      terms_[3][lane_] = lost(terms_[1][lane_], row.zloss);
    }
  }
  // Of the list that has the lane's number.
  __device__ __forceinline__ double value() {
    __syncwarp();
    if (lane_ < 2)
      for (int i = 0; i < kBatch; ++i) terms_[lane_][i] = 0;
    __syncwarp();
    add_terms();
    const double lost = __shfl_down_sync(~0u, sum_, 2);
    return std::isfinite(sum_) ? sum_ + lost : sum_;
  }

 private:
  // Adds the terms of a lane's list and leaves in their places what the sum was before.
  __device__ __forceinline__ void add_terms() {
    if (lane_ >= 4) return;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const double before = sum_;
      sum_ += terms_[lane_][i];
      terms_[lane_][i] = before;
    }
  }
  static __device__ __forceinline__ double lost(double before, double x) {
    const double sum = before + x, x_in_sum = sum - before;
    return (before - (sum - x_in_sum)) + (x - x_in_sum);
  }
  double (&terms_)[4][kBatch];
  int lane_;
  double sum_ = 0;
};

template <class Element> struct Loss {
  CrossEntropyLossArgs a;
  Labels labels;
  const Element* input;
  Element *loss, *log_prob, *zloss, *lse;
  CudaScratch* scratch;
  int64_t per_block;  // rows whose losses are added one after the other: of a warp, or of a team of blocks
  bool in_vectors;    // both matrices' rows are neighbours and begin where 16 bytes may be moved

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
  __device__ RowLoss finish(int64_t row, const Label& label, const Scores& scores, double log_sum) const;
  // The sum of a list over a block of rows; when all are there add_blocks makes the total.
  __device__ void keep_sum(int list, int64_t block, double sum) const {
    if (a.reduction != CrossEntropyReduction::kNone) scratch->numbers[kSumsOfBlocks + list * kBlocks + block] = sum;
  }
  // Without weights a mean needs whole numbers only, whose sum is the same in any order: no kernel of its own.
  __host__ __device__ bool counts_rows() const {
    return a.reduction == CrossEntropyReduction::kMean && labels.weight == nullptr;
  }
  __device__ void add_blocks(int64_t count) const;
  __device__ void store_total(double loss_total, double zloss_total, double counted) const;
};

template <class Element>
__device__ RowLoss Loss<Element>::finish(int64_t row, const Label& label, const Scores& scores, double log_sum) const {
  const double lse_of_row = scores.most + log_sum;
  if (a.write_zloss) lse[row * a.lse_stride] = narrow<Element>(lse_of_row);
  RowLoss r;
  if (label.counts) {
    r.counted = 1;
    const double of_label = widen<double>(label.score) - scores.most - log_sum;
    r.loss = -(1 - a.smoothing) * double{label.weight} * of_label;
    if (a.smoothing != 0)
      r.loss -= a.smoothing / static_cast<double>(a.labels.classes) *
                (scores.distance - log_sum * sum_of_all_weights(labels, scratch));
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

// By the last block of threads that comes here.
template <class Element> __device__ void Loss<Element>::add_blocks(int64_t count) const {
  if (a.reduction == CrossEntropyReduction::kNone || !is_last_block(&scratch->tickets[kBlocksDone])) return;
  __shared__ double parts[kLists][kBlocks / kTile];
  const TileGroup<1> group;
  const int groups = static_cast<int>(blockDim.x) / TileGroup<1>::kSize, blocks = static_cast<int>(count);
  const int tiles = static_cast<int>(ceil_divide(count, kTile));
  for (int i = static_cast<int>(threadIdx.x) / TileGroup<1>::kSize; i < kLists * tiles; i += groups) {
    const int list = i / tiles, tile = i % tiles, first = tile * static_cast<int>(kTile);
    const int n = blocks - first < kTile ? blocks - first : static_cast<int>(kTile);
    const double* const numbers = scratch->numbers + kSumsOfBlocks + list * kBlocks + first;
    const double total =
        sum_tile<1>(n, group, [&](int at, int, double(&value)[1]) { value[0] = __ldcg(numbers + at); });
    if (group.rank == 0) parts[list][tile] = total;
  }
  __shared__ double totals[kLists];
  __syncthreads();
  static_assert(kBlocks / kTile <= kTilesOfChunk);
  if (const int list = static_cast<int>(threadIdx.x) / TileGroup<1>::kSize; list < kLists) {
    const double total = sum_of(tiles, group, [&](int i) { return parts[list][i]; });
    if (group.rank == 0) totals[list] = total;
  }
  __syncthreads();
  if (threadIdx.x == 0) store_total(totals[kLosses], totals[kZlosses], totals[kCounted]);
}

}  // namespace descend::cuda
