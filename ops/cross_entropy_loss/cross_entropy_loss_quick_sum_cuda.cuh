// SPDX-License-Identifier: MIT
// Sums of exponentials of halves in the card's quickest way, where how they are computed does not show
// (CrossEntropyKeptSum).
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cuda.cuh"

namespace descend::cuda {

// Whether sums of exponentials are quick ones (CrossEntropyKeptSum).
template <class Element, bool shows_lse> inline constexpr bool kSumsQuickly = sizeof(Element) == 2 && !shows_lse;

// A thread's part of the sum of exp(x - most) over scores, but for those of the largest score, by the card's own
// powers of two and in any order.
template <class Element> class QuickSum {
  using Twice = Columns<Element, 2>;

 public:
  int times = 0;   // that the largest score was there
  double sum = 0;  // of the exponentials, times 2 to the power of what the product of `most` has lost

  __device__ __forceinline__ explicit QuickSum(float most)
      : most_(most), shift_(-most * kLog2E), most_twice_{{narrow<Element>(most), narrow<Element>(most)}} {}

  // Of scores of which seldom one is the largest.  A NaN makes the sum NaN.
  template <class Piece, int pieces> __device__ __forceinline__ void add(const Piece (&x)[pieces]) {
    constexpr int n = sizeof(Piece) / sizeof(Element);
    Twice largest{{x[0].at[0], x[0].at[1]}};
    float term[pieces * n];
#pragma unroll
    for (int i = 0; i < pieces; ++i) {
#pragma unroll
      for (int j = 0; j < n; j += 2) {
        const Twice two{{x[i].at[j], x[i].at[j + 1]}};
        if (i + j > 0) keep_larger(largest.at, two.at);
      }
      float wide[n];
      widen_all(x[i], wide);
#pragma unroll
      for (int j = 0; j < n; ++j) term[i * n + j] = exp_of(wide[j]);
    }
    if (equals(largest, most_twice_) != 0) {
#pragma unroll
      for (int k = 0; k < pieces * n; ++k) {
        const bool is_largest = widen<float>(x[k / n].at[k % n]) == most_;
        times += is_largest;
        if (is_largest) term[k] = 0;
      }
    }
    add_terms(term);
  }
  template <class Piece> __device__ __forceinline__ void add(const Piece& x) {
    const Piece one[1] = {x};
    add(one);
  }
  // The same, of scores that have the largest of one of a warp's rows as often as not.
  __device__ __forceinline__ void add_without_question(const Vector<Element>& x) {
    constexpr int n = Vector<Element>::kCount;
    const Element none = narrow<Element>(-std::numeric_limits<float>::infinity());
    const auto nothing = std::bit_cast<uint32_t>(Twice{{none, none}});
    float term[n];
#pragma unroll
    for (int j = 0; j < n; j += 2) {
      const Twice two{{x.at[j], x.at[j + 1]}};
      const uint32_t equal = equals(two, most_twice_);
      equal_ -= equal;
      const auto others = std::bit_cast<Twice>((std::bit_cast<uint32_t>(two) & ~equal) | (nothing & equal));
      float wide[2];
      widen_all(others, wide);
      term[j] = exp_of(wide[0]), term[j + 1] = exp_of(wide[1]);
    }
    add_terms(term);
  }
  // That add_without_question() has counted.
  __device__ __forceinline__ int times_without_question() const {
    const uint32_t low = equal_ & 0xffff;  // each of which has taken one of the high half
    return static_cast<int>(low + ((equal_ >> 16) + low) % 0x10000);
  }
  __device__ __forceinline__ void add_one(Element x) {
    const float wide = widen<float>(x);
    times += wide == most_;
    sum += wide == most_ ? 0 : double{exp_of(wide)};
  }
  // Of the sums of all threads: without what the product of `most` has lost, which is in every exponent alike.  Up to
  // 2^17 that is below 2^-7, and its third power does not count; scores beyond are so far apart that exponentials are
  // 0.
  __device__ __forceinline__ double total(double of_all) const {
    const float lost = std::fma(most_, kLog2E, shift_);
    return of_all * double{std::fma(lost, std::fma(lost, kLn2 * kLn2 / 2, -kLn2), 1.0f)};
  }

 private:
  static constexpr float kLog2E = 0x1.715476p0f;
  static constexpr float kLn2 = 0x1.62e43p-1f;
  __device__ __forceinline__ float exp_of(float x) const { return exp2_of_card(std::fma(x, kLog2E, shift_)); }
  template <int n> __device__ __forceinline__ void add_terms(float (&term)[n]) {
#pragma unroll
    for (int width = n / 2; width > 0; width /= 2)
#pragma unroll
      for (int k = 0; k < width; ++k) term[k] += term[k + width];
    sum += double{term[0]};
  }
  const float most_, shift_;
  const Twice most_twice_;
  uint32_t equal_ = 0;
};

// How far such a sum of 2^log_terms terms at most may be from the exact one.  Each term loses 2^-22, and of what its
// exponent is, one at least, 2^-24.2, and the exact one, whose difference is a float, 2^-24.5.  Among terms that add up
// to S the exponents' mean is not above log2(2^log_terms / S).  Eight terms added as float lose 2^-22.4, the total's
// factor 2^-23.4, and the exact sum 2^-22.6.
__device__ __forceinline__ double error_of_quick_sum(double sum, int log_terms) {
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(sum) >> 52) - 1023;
  return 0x1.6p-21 + (1 + log_terms - exponent) * 0x1.8cp-24;
}

// The exact sum of a tile, by a group of threads; out of the way of what is done for every row.
template <int V, class Element, RowsAre rows_are>
__device__ __noinline__ double exact_sum(int n, TileScores<Element, rows_are> scores, float most) {
  int times = 0;
  return sum_exponentials(n, TileGroup<V>{}, scores, most, times);
}

// What is kept of sums by a warp, some of whose lanes have one each, of a row or of a part of one, of 2^log_terms terms
// at most: exact() computes them all.
template <class Element, class Exact>
__device__ __forceinline__ double kept_sum(double quick, bool has_one, bool is_row, int log_terms, const Exact& exact) {
  const CrossEntropyKeptSum<Element> kept(quick, is_row);
  const bool is_sure = kept.is_sure(error_of_quick_sum(quick, log_terms));
  if (!__any_sync(~0u, has_one && !is_sure)) return kept.kept();
  return CrossEntropyKeptSum<Element>(exact(), is_row).kept();
}

// The same by a warp whose lanes have a row each, of `rows` that are there, in memory at row_at(number).  Rows that are
// not sure are added up exactly, two at a time, each by a half of the warp.
template <class Element, class RowAt>
__device__ __forceinline__ double kept_sum_of_rows(double quick, int log_terms, int rows, float most, int classes,
                                                   const RowAt& row_at) {
  constexpr int kHalf = TileGroup<1>::kSize;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  CrossEntropyKeptSum<Element> kept(quick, true);
  unsigned unsure = __ballot_sync(~0u, lane < rows && !kept.is_sure(error_of_quick_sum(quick, log_terms)));
  while (unsure != 0) {
    const int one = __ffs(static_cast<int>(unsure)) - 1;
    unsure &= unsure - 1;
    const int other = unsure != 0 ? __ffs(static_cast<int>(unsure)) - 1 : one;
    unsure &= unsure - 1;
    const int of_half = lane < kHalf ? one : other;
    const TileScores<Element, RowsAre::kInPieces> of_row{row_at(of_half), 1};
    const double exact = exact_sum<1>(classes, of_row, __shfl_sync(~0u, most, of_half));
    const double of_one = __shfl_sync(~0u, exact, 0), of_other = __shfl_sync(~0u, exact, kHalf);
    if (lane == one) kept = {of_one, true};
    if (lane == other) kept = {of_other, true};
  }
  return kept.kept();
}

}  // namespace descend::cuda
