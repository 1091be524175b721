// SPDX-License-Identifier: MIT
// A functor of elementwise() that computes in double whatever the loop's type.  Compiled once per SIMD target.
//
// Of FLOAT, FLOAT16 and BF16 operands double holds differences, products of a few factors and their reciprocals without
// overflow, underflow or an error that the last rounding would show: a formula of such operations needs no care beyond.
#if defined(DESCEND_LOOPS_IN_DOUBLE_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_IN_DOUBLE_CPU_INL_H
#undef DESCEND_LOOPS_IN_DOUBLE_CPU_INL_H
#else
#define DESCEND_LOOPS_IN_DOUBLE_CPU_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// F has a vector operator() of doubles; float vectors go through it in two halves.
template <class F> struct InDouble {
  F f;

  template <class D, class... V> HWY_INLINE hn::Vec<D> operator()(D d, V... v) const {
#if HWY_TARGET == HWY_SCALAR
    // Highway's scalar conversion makes infinities the largest number.
    const hn::Rebind<double, D> wide;
    return hn::Set(d, static_cast<float>(hn::GetLane(f(wide, hn::Set(wide, double{hn::GetLane(v)})...))));
#else
    const hn::Half<D> half;
    const hn::Repartition<double, D> wide;
    const auto low = f(wide, hn::PromoteTo(wide, hn::LowerHalf(half, v))...);
    const auto high = f(wide, hn::PromoteTo(wide, hn::UpperHalf(half, v))...);
    return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
