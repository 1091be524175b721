// SPDX-License-Identifier: MIT
// The sum of the losses of rows of which one thread of a block does one after the other, on GPUs.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"

namespace descend::cuda {

// The losses of the rows so far, which one thread adds, and what the last one's is made of.  In shared memory: no other
// thread needs registers for it.
template <class Element> struct RowsSoFar {
  static constexpr int kColumns = static_cast<int>(kSumColumns<double>);
  double column[kLists][kColumns] = {};  // of the part that is not at its end
  int counted = 0;
  typename Loss<Element>::Label label;
  Scores scores;
  double log_sum = 0;

  __device__ void add(const Loss<Element>& l, int64_t row) {
    const RowLoss of_row = l.finish(row, label, scores.most, scores.distance, log_sum);
    counted += of_row.counted;
    const int64_t in_part = row & (l.cut.per_part - 1);
    const bool ends_part = in_part == l.cut.per_part - 1 || row + 1 == l.a.labels.rows;
    keep(l, kLosses, row, of_row.loss, in_part, ends_part);
    if (l.a.shows_lse()) keep(l, kZlosses, row, of_row.zloss, in_part, ends_part);
  }

 private:
  __device__ void keep(const Loss<Element>& l, int list, int64_t row, double x, int64_t in_part, bool ends_part) {
    double* const sum = column[list];
    if (l.cut.per_part > 1) {
      sum[in_part % kColumns] += x;
      if (!ends_part) return;
#pragma unroll 1
      for (int width = kColumns / 2; width > 0; width /= 2)
#pragma unroll 1
        for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
      x = sum[0];
#pragma unroll 1
      for (int i = 0; i < kColumns; ++i) sum[i] = 0;
    }
    l.keep_sum(list, l.cut.part_of(row), x);
  }
};

}  // namespace descend::cuda
