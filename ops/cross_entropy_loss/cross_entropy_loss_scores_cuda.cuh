// SPDX-License-Identifier: MIT
// What the cross entropy computes of a row of scores on GPUs: the formulas and the order of additions of
// cross_entropy_loss_scores_cpu-inl.h, by the threads of a group.
#pragma once
#include <limits>

#include "ops/cross_entropy_loss/cross_entropy_loss_cuda.cuh"

namespace descend::cuda {

// x - (high + low), the largest score plus the logarithm of the sum.
struct LogProb {
  float high, low;
  DESCEND_FORMULA float operator()(float x) const { return (x - high) - low; }
};

// log(1 + x) for x that is not negative.
DESCEND_CAREFUL_FORMULA inline double log_one_plus(double x) {
  const double sum = 1 + x;
  return log(Lane<double>{}, sum) + (x - (sum - 1)) / sum;
}

// What is known of a row before it is written.
struct Scores {
  float most = -std::numeric_limits<float>::infinity();
  int times = 0;        // the largest score is there
  double below = 0;     // sum of the other scores' exponentials
  double distance = 0;  // sum of weight * (score - most), with smoothing

  DESCEND_FORMULA bool is_number() const { return std::fabs(most) < std::numeric_limits<float>::infinity(); }
  DESCEND_FORMULA double log_sum() const {
    return log_one_plus(is_number() ? static_cast<double>(times - 1) + below
                                    : std::numeric_limits<double>::quiet_NaN());
  }
  DESCEND_FORMULA LogProb log_prob(double log_sum) const {
    const float high = static_cast<float>(most + log_sum);
    return {high, static_cast<float>(log_sum - (double{high} - most))};
  }
};

// exp(x - most) * 2^100, but 0 for the largest score itself, which is counted, and below exp(-155).
template <class Element> DESCEND_FORMULA float exp_below(float x, float most, int& equal) {
  const Lane<float> d;
  float difference, shifted, p;
  if constexpr (std::is_same_v<Element, float>) {
    float low;
    difference = two_sum(d, x, -most, low);
    p = quick_exp_parts(d, difference, low, shifted);
  } else {
    difference = x - most;
    p = quick_exp_parts(d, difference, shifted);
  }
  const float power = formulas::power_of_shifted<100>(VectorMath<Lane<float>>(d), shifted);
  const bool is_most = x == most;
  equal += is_most;
  return is_most || difference < -155 ? 0 : std::fma(power, p, power);
}

// The sum of exp(x - most) over n <= kTile scores, get(0) to get(n - 1), but for those of the largest score; in the
// group's first thread.  Two neighbours of a column are added as float, these sums as double.
template <int V, class Element, class Get>
__device__ __forceinline__ double sum_exponentials(int n, const TileGroup<V>& group, const Get& get, float most,
                                                   int& equal) {
  constexpr int kColumns = static_cast<int>(kSumColumns<double>);
  double column[V] = {};
  const auto term = [&](int i) { return exp_below<Element>(widen<float>(get(i)), most, equal); };
  int i = group.rank * V;
#pragma unroll 4
  for (; i + V + kColumns <= n; i += 2 * kColumns)
#pragma unroll
    for (int j = 0; j < V; ++j) column[j] += static_cast<double>(term(i + j) + term(i + j + kColumns));
#pragma unroll
  for (int j = 0; j < V; ++j) {
    if (i + j >= n) continue;
    float sum = term(i + j);
    if (i + j + kColumns < n) sum += term(i + j + kColumns);
    column[j] += static_cast<double>(sum);
  }
  return add_columns<V>(column, group.mask) * 0x1p-100;
}

// The sum of weight * (score - most) over the n <= kTile classes from number `first` on.
template <int V, class Get>
__device__ __forceinline__ double sum_distances(int64_t first, int n, const TileGroup<V>& group, const Get& get,
                                                float most, const Labels& labels) {
  return sum_tile<V>(n, group, [&](int i, int count, double(&value)[V]) {
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (j < count) value[j] = (widen<double>(get(i + j)) - double{most}) * double{labels.weight_of(first + i + j)};
  });
}

}  // namespace descend::cuda
