// SPDX-License-Identifier: MIT
// What the cross entropy computes of a row of scores: the largest, the sum of exponentials, its logarithm, and the
// logarithms of the probabilities.  Compiled once per SIMD target.
#if defined(DESCEND_OPS_CROSS_ENTROPY_LOSS_SCORES_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_CROSS_ENTROPY_LOSS_SCORES_CPU_INL_H
#undef DESCEND_OPS_CROSS_ENTROPY_LOSS_SCORES_CPU_INL_H
#else
#define DESCEND_OPS_CROSS_ENTROPY_LOSS_SCORES_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/loops/convert_cpu-inl.h"
#include "src/loops/math-inl.h"
#include "src/loops/math_scalar.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What the exponentials of a row's scores, or a part's, have in common.
template <class Element> struct Largest {
  static constexpr float origin = 0;
  static constexpr double factor() { return 1; }
  float rest;
  static constexpr float bias = 0;  // of no use
};
template <> struct Largest<float> : scalar::LargestOfMany<kExpLift> { using LargestOfMany::LargestOfMany; };

// exp(x - most) * 2^kExpLift, of FLOAT less the factor of all of a row or part, but 0 for the largest score itself,
// which is `is_most`, and below exp(kLeastDifference).  x is less the origin.
//
// exactly: halves have the exponential of floats.  Otherwise theirs is brief (brief_exp_parts).
template <class Element, bool exactly = false> struct ExpBelow {
  template <class D, class V> static HWY_INLINE V term(D d, V x, V rest, V bias, hn::Mask<D>& is_most) {
    const V difference = hn::Sub(x, rest);
    V result;
    if constexpr (std::is_same_v<Element, float>) {
      result = formulas::exp_of_many(VectorMath<D>{d}, x, bias);
    } else {
      // What the difference loses, 2^-17 where exp is not 0, an element of 11 bits does not show.  Nor does lse where
      // it cancels: float holds a difference d that is not 2^13 times the largest score or more.  The sum of others'
      // exponentials is as small as that score, and loses d * 2^-24 of itself: below 2^-26 for as many as memory holds.
      V shifted;
      const V p = exactly ? quick_exp_parts(d, difference, shifted) : brief_exp_parts(d, difference, shifted);
      const V power = formulas::power_of_shifted<kExpLift>(VectorMath<D>{d}, shifted);
      result = exactly ? mul_add(d, power, p, power) : hn::Mul(power, p);
    }
    is_most = hn::Eq(x, rest);
    const auto none = hn::Or(is_most, hn::Lt(difference, hn::Set(d, kLeastDifference)));  // not NaN's: it stays
    return hn::IfThenZeroElse(none, result);
  }
};

// x - (high + low), where high + low is the largest score plus the logarithm of the sum: the first subtraction is exact
// where the two are close, so that the result is as precise as low, and elsewhere within 0.5 ulp.
struct LogProb {
  float high, low;
  template <class D, class V> HWY_INLINE V operator()(D d, V x) const {
    return hn::Sub(hn::Sub(x, hn::Set(d, high)), hn::Set(d, low));
  }
};

// The largest of `start` and x[0, n).  With a NaN among them it may be any of them: the sum of exponentials is NaN
// then, or the largest score no number, and either makes all of the row NaN.
template <class Element> HWY_NOINLINE float largest(const Element* x, int64_t n, float start) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n < lanes) {
    for (int64_t i = 0; i < n; ++i) start = std::max(start, widen<float>(x[i]));
    return start;
  }
  auto a = hn::Set(d, start), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Max(a, load_of_two<0>(d, x + i));
    b = hn::Max(b, load_of_two<1>(d, x + i));
    c = hn::Max(c, load_of_two<0>(d, x + i + 2 * lanes));
    e = hn::Max(e, load_of_two<1>(d, x + i + 2 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Max(a, load_as(d, x + i));
  b = hn::Max(b, load_as(d, x + n - lanes));  // the last ones, some of them once more
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a, b), hn::Max(c, e))));
}

// How far a quick sum may be from the exact one, by what exponentials lose, 20 additions as float and the exact sum.
inline constexpr double kErrorOfQuickSum = formulas::kBriefExpError + 20 * 0x1p-24 + 0x1.4p-23;

// What a tile's exponentials are added as, quick ones of halves with 20 roundings at most.
template <class Element, bool exactly>
using TileSum = std::conditional_t<sizeof(Element) == 2 && !exactly, float, double>;

// A tile's exponentials are added in kColumns columns: two neighbours of a column as float, so that they lose no more
// than one of them has lost already, and these sums as TileSum says.
inline constexpr int64_t kColumns = 16;  // what a vector of any target holds, or a multiple
inline constexpr int64_t kPair = 2 * kColumns;

// Adds float lanes to the double sums of their columns, and stores these.
template <class D, class V, class Wide> HWY_INLINE void add_lanes(D, V v, Wide& low, Wide& high) {
#if HWY_TARGET == HWY_SCALAR
  low = hn::Add(low, hn::PromoteTo(hn::Rebind<double, D>(), v));
  (void)high;  // no lanes
#else
  const hn::Half<D> half;
  const hn::Repartition<double, D> wide;
  low = hn::Add(low, hn::PromoteTo(wide, hn::LowerHalf(half, v)));
  high = hn::Add(high, hn::PromoteTo(wide, hn::UpperHalf(half, v)));
#endif
}
template <class D, class Wide> HWY_INLINE void store_lanes(D, Wide low, Wide high, double* to) {
  const hn::Repartition<double, D> wide;
  hn::StoreU(low, wide, to);
  if constexpr (HWY_TARGET != HWY_SCALAR) hn::StoreU(high, wide, to + hn::Lanes(wide));
}

// The sums of float lanes that add(f) gives to f, as they are stored.
template <class D, class Add> HWY_INLINE void sum_lanes(D d, const Add& add, double* to) {
  const hn::Repartition<double, D> wide;
  auto low = hn::Zero(wide), high = low;
  add([&](auto v) HWY_ATTR { add_lanes(d, v, low, high); });
  store_lanes(d, low, high, to);
}
template <class D, class Add> HWY_INLINE void sum_lanes(D d, const Add& add, float* to) {
  auto sum = hn::Zero(d);
  add([&](auto v) HWY_ATTR { sum = hn::Add(sum, v); });
  hn::StoreU(sum, d, to);
}

// The sum of 2 * width columns; loops whose length is known are none in the end.
template <int64_t width, class Sum> HWY_INLINE Sum sum_columns(Sum* column) {
  for (int64_t j = 0; j < width; ++j) column[j] += column[j + width];
  if constexpr (width > 1) return sum_columns<width / 2>(column);
  return column[0];
}

// Counts the lanes of a mask.
template <class D, class Count> HWY_INLINE void count_lanes(D d, hn::Mask<D> mask, Count& count) {
  count = hn::Sub(count, hn::BitCast(hn::RebindToUnsigned<D>(), hn::VecFromMask(d, mask)));
}

// The sum of exp(x - most), less its factor, over x[0, n), n <= kTile, but for those of the largest score, which
// `times` counts.
template <bool exactly, class Element>
HWY_NOINLINE double sum_exponentials(const Element* x, int64_t n, const float most, int64_t& times) {
  const Largest<Element> largest{most};
  const hn::CappedTag<float, kColumns> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t rest = n % kPair, full = n - rest;
  HWY_ALIGN Element last[kPair];
  if (rest != 0) {  // of what is not there exp is 0
    std::fill_n(std::copy_n(x + full, rest, last), kPair - rest,
                narrow<Element>(-std::numeric_limits<float>::infinity()));
  }
  HWY_ALIGN TileSum<Element, exactly> column[kColumns];
  auto equal = hn::Zero(hn::RebindToUnsigned<decltype(d)>());
  const auto term = [&](const Element* at) HWY_ATTR {
    hn::Mask<decltype(d)> is_most;
    auto score = load_as(d, at);
    if constexpr (std::is_same_v<Element, float>) score = hn::Sub(score, hn::Set(d, largest.origin));
    const auto below =
        ExpBelow<Element, exactly>::term(d, score, hn::Set(d, largest.rest), hn::Set(d, largest.bias), is_most);
    count_lanes(d, is_most, equal);
    return below;
  };
  for (int64_t j = 0; j < kColumns; j += lanes) {  // two terms at a time leave their constants in registers
    const auto add = [&](const auto& give) HWY_ATTR {
      for (int64_t i = j; i < full; i += kPair) {
        const auto first = term(x + i), second = term(x + i + kColumns);
        give(hn::Add(first, second));
      }
      if (j < rest) {
        auto sum = term(last + j);
        if (j + kColumns < rest) sum = hn::Add(sum, term(last + j + kColumns));
        give(sum);
      }
    };
    sum_lanes(d, add, column + j);
  }
  times += hn::GetLane(hn::SumOfLanes(hn::RebindToUnsigned<decltype(d)>(), equal));
  return sum_columns<kColumns / 2>(column) * kExpDrop;
}

// log(1 + x) for x = more + below, not negative.  What the sum loses counts where the logarithm is small.
struct LogOnePlus {
  template <class D, class V> HWY_INLINE V operator()(D d, V more, V below) const {
    const V x = hn::Add(more, below);
    const V one = hn::Set(d, 1.0), sum = hn::Add(one, x), logarithm = log(d, sum);
    const V careful = hn::Add(logarithm, hn::Div(hn::Sub(x, hn::Sub(sum, one)), sum));
    return hn::IfThenElse(hn::Ge(x, one), logarithm, careful);
  }
};
inline double log_one_plus(double x) {
  const hn::CappedTag<double, 1> d;
  return hn::GetLane(LogOnePlus{}(d, hn::Set(d, x), hn::Zero(d)));
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
