// SPDX-License-Identifier: MIT
// What is known of a row before it is written, and how it is made of what is known of the row's parts.  Compiled once
// per SIMD target.
//
// The largest score's own exponential, 1, stays out of the sum, and the logarithm is that of 1 plus the rest: so the
// logarithm of a probability that is almost 1 is as precise as any other.
#if defined(DESCEND_OPS_CROSS_ENTROPY_LOSS_PARTS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_CROSS_ENTROPY_LOSS_PARTS_CPU_INL_H
#undef DESCEND_OPS_CROSS_ENTROPY_LOSS_PARTS_CPU_INL_H
#else
#define DESCEND_OPS_CROSS_ENTROPY_LOSS_PARTS_CPU_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cpu-inl.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/sums.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// The largest score of no scores, and of nothing but -Inf, which has it 0 times: differences to -Inf would be NaN.
inline constexpr float kLeastMost = std::numeric_limits<float>::lowest();

struct Scores {
  float most = kLeastMost;
  int64_t times = 0;    // the largest score is there
  double below = 0;     // sum of the other scores' exponentials
  double distance = 0;  // sum of weight * (score - most), with smoothing

  // Inf - Inf: a row without a finite largest score is NaN.
  bool is_number() const { return std::isfinite(most) && times > 0; }
  // What the largest score's 1 is added to.
  double others() const {
    return is_number() ? static_cast<double>(times - 1) + below : std::numeric_limits<double>::quiet_NaN();
  }
  double log_sum() const { return log_one_plus(others()); }
  template <class Element> LogProb log_prob(double log_sum) const {
    const auto high = static_cast<float>(most + log_sum);
    if (!shows_low<Element>(high, log_sum)) return {high, 0};
    return {high, static_cast<float>(log_sum - (double{high} - most))};
  }
};

// The same of a part of a row, with its own largest score.
struct PartScores {
  float most;
  int32_t times;
  double below;
};

// Made of the sums of a part's tiles.
class SumOfPart {
 public:
  SumOfPart() = default;
  explicit SumOfPart(float most) { begin(most); }
  void begin(float most) { most_ = most + 0.0f; }  // of -0 and 0, whichever was found, 0
  float most() const { return most_; }
  int64_t& times() { return times_; }
  void add(double tile) { tiles_.add(tile); }
  PartScores take() { return {most_, static_cast<int32_t>(times_), tiles_.take()}; }

 private:
  float most_ = 0;
  int64_t times_ = 0;
  ColumnedSum tiles_;
};

struct Exp {
  template <class D, class V> HWY_INLINE V operator()(D d, V x) const { return exp(d, x); }
};

// A NaN in a part makes its sum NaN, and that the row's.
inline Scores scores_of_row(const PartScores* parts, int64_t count) {
  if (count == 1) return {.most = parts[0].most, .times = parts[0].times, .below = parts[0].below};
  Scores row;
  for (int64_t k = 0; k < count; ++k) row.most = std::max(row.most, parts[k].most);
  HWY_ALIGN double difference[CrossEntropyParts::kMost], factor[CrossEntropyParts::kMost];
  for (int64_t k = 0; k < count; ++k) difference[k] = double{parts[k].most} - double{row.most};
  run_inputs<double>(Exp{}, count, factor, std::make_index_sequence<1>(), Input<double>{difference, -1});
  ColumnedSum below;
  for (int64_t k = 0; k < count; ++k) {
    const PartScores& part = parts[k];
    const bool has_most = part.most == row.most;
    if (has_most) row.times += part.times;
    below.add(has_most ? part.below : factor[k] * (part.times + part.below));
  }
  row.below = below.take();
  return row;
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
