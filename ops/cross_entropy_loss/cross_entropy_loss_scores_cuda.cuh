// SPDX-License-Identifier: MIT
// What the cross entropy computes of a row of scores on GPUs: the formulas and the order of additions of
// cross_entropy_loss_scores_cpu-inl.h, by the threads of a group.
#pragma once
#include <climits>
#include <limits>

#include "ops/cross_entropy_loss/cross_entropy_loss_cuda.cuh"

namespace descend::cuda {

// x - (high + low), the largest score plus the logarithm of the sum.  Both are sent at once.
struct alignas(8) LogProb {
  float high, low;
  DESCEND_FORMULA float operator()(float x) const { return (x - high) - low; }
};
// The same of a row that has no `low`, in a step less.
struct LogProbOfHigh {
  float high;
  DESCEND_FORMULA float operator()(float x) const { return x - high; }
};
// body(f), by a warp that has one row; in a step less where that is possible and `looks` for it.
template <bool looks, class Body> __device__ __forceinline__ void with_log_prob(const LogProb& f, const Body& body) {
  if (looks && f.low == 0)
    body(LogProbOfHigh{f.high});
  else
    body(f);
}

// log(1 + x) for x that is not negative.  What the sum loses counts where the logarithm is small.
DESCEND_CAREFUL_FORMULA inline double log_one_plus(double x) {
  const double sum = 1 + x, logarithm = log(Lane<double>{}, sum);
  return x >= 1 ? logarithm : logarithm + (x - (sum - 1)) / sum;
}

// What is known of a row before it is written.
struct Scores {
  float most = -std::numeric_limits<float>::infinity();
  int64_t times = 0;    // the largest score is there
  double below = 0;     // sum of the other scores' exponentials
  double distance = 0;  // sum of weight * (score - most), with smoothing

  DESCEND_FORMULA bool is_number() const {
    return std::fabs(most) < std::numeric_limits<float>::infinity() && times > 0;
  }
  DESCEND_FORMULA double log_sum() const {
    return log_one_plus(is_number() ? static_cast<double>(times - 1) + below
                                    : std::numeric_limits<double>::quiet_NaN());
  }
  template <class Element> DESCEND_FORMULA LogProb log_prob(double log_sum) const {
    const float high = static_cast<float>(most + log_sum);
    if (!shows_low<Element>(high, log_sum)) return {high, 0};
    return {high, static_cast<float>(log_sum - (double{high} - most))};
  }
};

// exp(x - most) * 2^kExpLift of a row's scores x, or a part's; FLOAT's less a factor that all of them have, factor().
template <class Element> struct ExpBelow {
  const float most;
  // And the difference, which is 0 and not -0 for the largest score.  For differences below kLeastDifference the result
  // is of no use; for NaN it is NaN.
  DESCEND_FORMULA float operator()(float x, float& difference) const {
    difference = x + (0 - most);
    float shifted;
    const float p = quick_exp_parts(Lane<float>{}, difference, shifted);
    const float power = scalar::power_of_shifted<kExpLift>(scalar::Math<float>{}, shifted);
    return std::fma(power, p, power);
  }
  DESCEND_FORMULA double factor() const { return 1; }
};
template <> struct ExpBelow<float> : scalar::LargestOfMany<kExpLift> {
  DESCEND_FORMULA explicit ExpBelow(float most) : scalar::LargestOfMany<kExpLift>(most) {}
  DESCEND_FORMULA float operator()(float x, float& difference) const {
    x -= origin;
    difference = x + (0 - rest);
    return scalar::exp_of_many(scalar::Math<float>{}, x, bias);
  }
};

// The same, but 0 for the largest score itself, which is counted, and below exp(kLeastDifference).
template <class Element> DESCEND_FORMULA float exp_below(float x, const ExpBelow<Element>& exp_of, int& equal) {
  float difference, result = exp_of(x, difference);
  asm("" : "+f"(result));  // computed in any case: the compiler would branch around it, for each score
  equal += difference == 0;
  return difference == 0 || difference < kLeastDifference ? 0 : result;
}

// The same of many scores.  Most often none is the largest, far below it or NaN: one look at all of them is enough.
template <class Element, int rows, int V>
__device__ __forceinline__ void exps_below(const Columns<Element, V> (&x)[rows], float most,
                                           const ExpBelow<Element>& exp_of, int& equal, float (&result)[rows][V]) {
  int largest = INT_MIN;  // of the differences' bits, which for numbers from kLeastDifference to below 0 are not above
                          // kLeastDifference's
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    float wide[V];
    widen_all(x[r], wide);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      float difference;
      result[r][j] = exp_of(wide[j], difference);
      largest = max(largest, __float_as_int(difference));
    }
  }
  if (largest <= __float_as_int(kLeastDifference)) return;
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float difference = widen<float>(x[r].at[j]) + (0 - most);  // as above, not -0
      equal += difference == 0;
      if (__float_as_int(difference) > __float_as_int(kLeastDifference))
        result[r][j] = difference <= 0 ? 0 : difference;
    }
}

// How the elements of rows lie, in both matrices.  A kernel knows it before the run, and whether there is smoothing, so
// that there are registers enough for everything; one of kAnyhow asks.
enum class RowsAre {
  kInPieces,  // neighbours, whole pieces
  kTogether,  // neighbours, which begin anywhere within a piece, but in both matrices alike
  kAnyhow
};

// Scores of a tile: V of them are read at once, as words of two halves each, or one by one.
template <class Element, RowsAre rows_are> struct TileScores {
  const Element* at;
  int64_t stride;
  __device__ __forceinline__ Element operator()(int c) const {
    return rows_are == RowsAre::kAnyhow ? at[c * stride] : at[c];
  }
  template <int V> __device__ __forceinline__ Columns<Element, V> columns(int c) const {
    if constexpr (rows_are == RowsAre::kInPieces) {
      return *reinterpret_cast<const Columns<Element, V>*>(at + c);
    } else if constexpr (rows_are == RowsAre::kTogether && sizeof(Element) == 2) {
      return from_words<V>(c);
    } else {
      Columns<Element, V> some;
#pragma unroll
      for (int j = 0; j < V; ++j) some.at[j] = (*this)(c + j);
      return some;
    }
  }

 private:
  template <int V> __device__ __forceinline__ Columns<Element, V> from_words(int c) const {
    const int odd = static_cast<int>(reinterpret_cast<uintptr_t>(at) / 2 % 2);
    const auto* const words = reinterpret_cast<const uint32_t*>(at - odd + c);
    uint32_t word[V / 2 + 1];
    Columns<uint32_t, V / 2> result;
#pragma unroll
    for (int j = 0; j <= V / 2; ++j) word[j] = words[j];
#pragma unroll
    for (int j = 0; j < V / 2; ++j)
      result.at[j] = __funnelshift_r(word[j], word[j + 1], static_cast<unsigned>(odd * 16));
    return std::bit_cast<Columns<Element, V>>(result);
  }
};

// The sum of exp(x - most), less ExpBelow's factor, over the n <= kTile scores of a tile, but for those of the largest
// score; in the group's first thread.  Two neighbours of a column are added as float, these sums as double.  `whole`: n
// is a multiple of kExpColumns.
inline constexpr int kExpLines = 8, kExpColumns = kExpLines * static_cast<int>(kSumColumns<double>);
template <bool whole = false, int V, class Element, RowsAre rows_are>
__device__ __forceinline__ double sum_exponentials(int n, const TileGroup<V>& group,
                                                   const TileScores<Element, rows_are>& scores, float most,
                                                   int& equal) {
  constexpr int kColumns = static_cast<int>(kSumColumns<double>), kRows = kExpLines / V;  // looked at together
  const ExpBelow<Element> exp_of{most};
  double column[V] = {};
  int i = group.rank * V;
#pragma unroll 1
  for (; i + (kRows - 1) * kColumns + V <= n; i += kRows * kColumns) {
    Columns<Element, V> x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) x[r] = scores.template columns<V>(i + r * kColumns);
    float term[kRows][V];
    exps_below(x, most, exp_of, equal, term);
#pragma unroll
    for (int r = 0; r < kRows; r += 2)
#pragma unroll
      for (int j = 0; j < V; ++j) column[j] += double{term[r][j] + term[r + 1][j]};
  }
#pragma unroll 1
  for (; !whole && i < n; i += 2 * kColumns)
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (i + j >= n) continue;
      float pair = exp_below(widen<float>(scores(i + j)), exp_of, equal);
      if (i + j + kColumns < n) pair += exp_below(widen<float>(scores(i + j + kColumns)), exp_of, equal);
      column[j] += double{pair};
    }
  return add_columns<V>(column, group.mask) * kExpDrop;
}

// The sum of weight * (score - most) over the n <= kTile classes from number `first` on, in the group's first thread.
template <int V, class Element, RowsAre rows_are>
__device__ __forceinline__ double sum_distances(int64_t first, int n, const TileGroup<V>& group,
                                                const TileScores<Element, rows_are>& scores, float most,
                                                const Labels& labels) {
  constexpr int kColumns = static_cast<int>(kSumColumns<double>);
  double column[V] = {};
  const auto distance = [&](Element x) { return widen<double>(x) - double{most}; };
  int i = group.rank * V;
  if (labels.weight) {
#pragma unroll 2
    for (; i + V <= n; i += kColumns) {
      const Columns<Element, V> x = scores.template columns<V>(i);
#pragma unroll
      for (int j = 0; j < V; ++j) column[j] += distance(x.at[j]) * double{labels.weight_of(first + i + j)};
    }
  } else {
#pragma unroll 4
    for (; i + V <= n; i += kColumns) {
      const Columns<Element, V> x = scores.template columns<V>(i);
#pragma unroll
      for (int j = 0; j < V; ++j) column[j] += distance(x.at[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < V; ++j)
    if (i + j < n) column[j] += distance(scores(i + j)) * double{labels.weight_of(first + i + j)};
  return add_columns<V>(column, group.mask);
}

}  // namespace descend::cuda
