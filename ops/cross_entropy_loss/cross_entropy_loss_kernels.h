// SPDX-License-Identifier: MIT
// What the kernels of the cross entropy take.  Seen by phase one and by every backend.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "src/base/host_device.h"
#include "src/device/kernel.h"
#include "src/tensor/tensor.h"

namespace descend {

// The labels of the rows and the weights of the classes.
struct CrossEntropyLabels {
  int64_t rows, classes;
  DataType index;         // dtype of target
  int64_t target_stride;  // in elements, as all strides here
  int64_t weight_stride;
  int64_t ignored;
};

struct CrossEntropyMatrixStrides {
  int64_t row, column;
};

// What becomes of the rows' losses.
enum class CrossEntropyReduction : int32_t { kNone, kMean, kSum };

// The order in which the losses of all rows are added: those of a part in columns (src/loops/sums.h), the few parts of
// a block, and the blocks, too.  A part is the least that a warp of a GPU takes at a time, or a few of them, a block
// the least of a CPU's thread.
struct CrossEntropyRowCut {
  static constexpr int64_t kBlocks = 2048, kPartsOfBlock = 8;  // at most
  int64_t per_block = 1, per_part = 1;                         // rows: powers of two
  int part_bits = 0;
  CrossEntropyRowCut() = default;
  explicit CrossEntropyRowCut(int64_t rows) {
    while (per_block * kBlocks < rows) per_block *= 2;
    while (per_part * kPartsOfBlock < per_block) per_part *= 2, ++part_bits;
  }
  DESCEND_HOST_DEVICE int64_t part_of(int64_t row) const { return row >> part_bits; }
};

// How the sum of exponentials of a row's scores is cut.  A part's are those of differences to the largest score of the
// part itself, so that whoever has a part need not wait for the others': few numbers of each are left for the end.
// Tiles of a part, and then parts, are added in columns (src/loops/sums.h).
struct CrossEntropyParts {
  static constexpr int64_t kMost = 64;        // of a row
  static constexpr int64_t kLeast = 8 << 10;  // bytes of scores: of any row up to that there is one part
  int64_t columns, count;                     // of a part, but the last one, whole tiles; parts
  DESCEND_HOST_DEVICE CrossEntropyParts(int64_t classes, size_t element_size)
      : columns(kLeast / static_cast<int64_t>(element_size)) {
    while (columns * kMost < classes) columns *= 2;
    count = (classes - 1) / columns + 1;
  }
};

// exp(x - most) of a row's or a part's scores x is computed times 2^kExpLift: so it needs one power of two and no
// subnormal number.  Differences below kLeastDifference are left out: of any number of scores that memory holds they
// are no part of the smallest result.
inline constexpr int kExpLift = 100;
inline constexpr double kExpDrop = 0x1p-100;  // takes it back
inline constexpr float kLeastDifference = -155;

// What is kept of a part's sum of exponentials of halves, where no result shows the sum by itself: two bits more than a
// half has, and fewer of larger sums, of which less shows in the logarithm.  That is within a quarter of an ulp of any
// result, or half of one where the row has several parts.  So how it was computed does not show either, and a backend
// may take the way that is its quickest: where all numbers within that way's error are rounded alike, the sum as floats
// have it would be, too; and where they are not, it is computed again in that exact way, whose bits are the same
// everywhere.
template <class Element> class CrossEntropyKeptSum {
 public:
  static constexpr int kBits = Element::kDigits + 2;
  static constexpr double kLeastSure = 0x1p-60;  // below it quick ways are not as precise, and do without small terms

  // is_row: the part is the whole row.  Else it may be little of it, but nearly all that the largest score is not.
  DESCEND_HOST_DEVICE CrossEntropyKeptSum(double sum, bool is_row)
      : sum_(sum), bits_(kBits - (sum >= 1) - (is_row ? (sum >= 8) + (sum >= 64) : 0)) {
    const int dropped = std::numeric_limits<double>::digits - bits_;
    const uint64_t bits = std::bit_cast<uint64_t>(sum);
    kept_ = sum <= std::numeric_limits<double>::max()
                ? std::bit_cast<double>(((bits >> (dropped - 1)) + 1) / 2 << dropped)
                : sum;  // NaN stays
  }
  DESCEND_HOST_DEVICE double kept() const { return kept_; }
  // Whether all numbers within `error` of the sum, relative to it, are rounded as it is; error is below 2^-kBits / 8.
  DESCEND_HOST_DEVICE bool is_sure(double error) const {
    constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
    const uint64_t exponent = std::bit_cast<uint64_t>(sum_) & kExponent;
    const double half =
        std::bit_cast<double>(exponent - (static_cast<uint64_t>(bits_) << 52));  // of what bits are apart
    return sum_ >= kLeastSure && std::fabs(sum_ - kept_) + sum_ * error < half;
  }

 private:
  double sum_;
  int bits_;
  double kept_;
};

// An element of logProb is x - (high + low), `high` the row's lse as float and `low` what that has lost, 2^-24 of it at
// most.  Whether elements show more of it than a 32nd of an ulp: none is nearer to 0 than the logarithm of the sum, and
// a half has 11 bits.
template <class Element> DESCEND_HOST_DEVICE bool shows_low(float high, double log_sum) {
  return sizeof(Element) > 2 || log_sum < 0x1p-9 * std::fabs(high);
}

struct CrossEntropyLossArgs {
  CrossEntropyLabels labels;
  DataType dtype;  // of every operand but the labels'
  CrossEntropyMatrixStrides input, log_prob;
  int64_t loss_stride, zloss_stride, lse_stride;
  CrossEntropyReduction reduction;
  double smoothing;
  double zloss_scale;  // 0: there is no z-loss
  bool write_zloss;    // the last two operands

  // Whether a result shows a row's lse, the largest score plus the logarithm of the sum, by itself.
  DESCEND_HOST_DEVICE bool shows_lse() const { return write_zloss || zloss_scale != 0; }
};
// Operands: target, weight or null, input, loss, logProb, zloss, lse.
inline constexpr Kernel<CrossEntropyLossArgs> kCrossEntropyLoss{"cross_entropy_loss"};

struct CrossEntropyLossGradArgs {
  CrossEntropyLabels labels;
  DataType dtype;
  CrossEntropyMatrixStrides log_prob, out;
  int64_t gradient_stride, zloss_gradient_stride, lse_stride;  // 0 where one number is every row's
  CrossEntropyReduction reduction;
  double smoothing;
  double zloss_scale;  // 0: there is no z-loss, and the last two operands are not read

  // A row's elements are exp(logProb) * scale, less scale at the label.
  DESCEND_HOST_DEVICE bool is_plain() const { return smoothing == 0 && zloss_scale == 0; }
};
// Operands: target, weight or null, gradLoss, logProb, out, gradZloss or null, lse or null.
inline constexpr Kernel<CrossEntropyLossGradArgs> kCrossEntropyLossGrad{"cross_entropy_loss_grad"};

}  // namespace descend
