// SPDX-License-Identifier: MIT
// What formulas that are written once for every backend (*_formulas.inc) are made of, on the numbers of one thread: the
// names of Highway and of math-inl.h that they use, with the same operations, and so the same bits.
#pragma once
#include <cmath>
#include <type_traits>

#include "src/loops/math_scalar.h"

#define DESCEND_FORMULA __device__ __forceinline__
#define DESCEND_CAREFUL_FORMULA __device__

namespace descend::cuda {

namespace formulas = descend::scalar;

template <class Element> struct Lane { using T = Element; };
// In a namespace of its own: the formulas' calls of each other must not find the functions below.
namespace operations {
template <class T> struct Math : scalar::Math<T> {
  template <class D> DESCEND_FORMULA explicit Math(D) {}
};
}  // namespace operations
template <class D> using VectorMath = operations::Math<typename D::T>;

namespace hn {
template <class D> using Mask = bool;
template <class D> using TFromD = typename D::T;
template <class D> using RebindToUnsigned = Lane<uint32_t>;  // of float: no formula asks for more
DESCEND_FORMULA uint32_t BitCast(Lane<uint32_t>, float x) { return __float_as_uint(x); }
DESCEND_FORMULA float BitCast(Lane<float>, uint32_t x) { return __uint_as_float(x); }
template <int bits> DESCEND_FORMULA uint32_t ShiftLeft(uint32_t x) { return x << bits; }
template <class D> DESCEND_FORMULA bool RebindMask(D, bool mask) { return mask; }
template <class D> DESCEND_FORMULA typename D::T Set(D, typename D::T x) { return x; }
template <class D> DESCEND_FORMULA typename D::T Zero(D) { return 0; }
template <class D> DESCEND_FORMULA typename D::T Inf(D) { return static_cast<typename D::T>(INFINITY); }
template <class D> DESCEND_FORMULA bool FirstN(D, int n) { return n > 0; }
template <class V> DESCEND_FORMULA V Add(V a, V b) { return a + b; }
template <class V> DESCEND_FORMULA V Sub(V a, V b) { return a - b; }
template <class V> DESCEND_FORMULA V Mul(V a, V b) { return a * b; }
template <class V> DESCEND_FORMULA V Div(V a, V b) { return a / b; }
template <class V> DESCEND_FORMULA V Neg(V a) { return -a; }
template <class V> DESCEND_FORMULA V Abs(V a) { return std::fabs(a); }
template <class V> DESCEND_FORMULA V Min(V a, V b) { return std::fmin(a, b); }  // no formula shows what NaN gives
template <class V> DESCEND_FORMULA V Max(V a, V b) { return std::fmax(a, b); }
template <class V> DESCEND_FORMULA V CopySign(V a, V b) { return std::copysign(a, b); }
template <class V> DESCEND_FORMULA bool Lt(V a, V b) { return a < b; }
template <class V> DESCEND_FORMULA bool Le(V a, V b) { return a <= b; }
template <class V> DESCEND_FORMULA bool Gt(V a, V b) { return a > b; }
template <class V> DESCEND_FORMULA bool Eq(V a, V b) { return a == b; }
template <class V> DESCEND_FORMULA bool IsFinite(V a) { return std::fabs(a) < static_cast<V>(INFINITY); }
DESCEND_FORMULA bool And(bool a, bool b) { return a && b; }
DESCEND_FORMULA bool Or(bool a, bool b) { return a || b; }
DESCEND_FORMULA bool Not(bool a) { return !a; }
template <class V> DESCEND_FORMULA V IfThenElse(bool which, V yes, V no) { return which ? yes : no; }
template <class V> DESCEND_FORMULA V IfThenZeroElse(bool which, V no) { return which ? V{0} : no; }
}  // namespace hn

// A number that template arguments are not deduced from: V is D's type.
template <class D> using Of = typename D::T;
template <class D> DESCEND_FORMULA Of<D> mul_add(D, Of<D> a, Of<D> b, Of<D> c) { return std::fma(a, b, c); }
template <class D> DESCEND_FORMULA Of<D> negative_mul_add(D, Of<D> a, Of<D> b, Of<D> c) { return std::fma(-a, b, c); }
template <class D> DESCEND_FORMULA Of<D> at_most(D d, Of<D> bound, Of<D> x) {
  return VectorMath<D>(d).at_most(bound, x);
}
template <class D> DESCEND_FORMULA Of<D> clamp(D d, Of<D> x, Of<D> low, Of<D> high) {
  return scalar::clamp(VectorMath<D>(d), x, low, high);
}
template <class D> DESCEND_FORMULA Of<D> two_product(D d, Of<D> a, Of<D> b, Of<D>& low) {
  return scalar::two_product(VectorMath<D>(d), a, b, low);
}
template <class D> DESCEND_FORMULA Of<D> scale_by_power_of_two(D d, Of<D> v, Of<D> k) {
  return scalar::scale_by_power_of_two(VectorMath<D>(d), v, k);
}
template <class D> DESCEND_FORMULA Of<D> exp_parts(D d, Of<D> high, Of<D> low, Of<D>& k, Of<D>& m_low) {
  return scalar::exp_parts(VectorMath<D>(d), high, low, k, m_low);
}
template <class D> DESCEND_FORMULA Of<D> exp(D d, Of<D> x) { return scalar::exp(VectorMath<D>(d), x); }
template <class D> DESCEND_FORMULA Of<D> expm1(D d, Of<D> x) { return scalar::expm1(VectorMath<D>(d), x); }
template <class D> DESCEND_FORMULA Of<D> expm1(D d, Of<D> high, Of<D> low) {
  return scalar::expm1(VectorMath<D>(d), high, low);
}
template <class D> DESCEND_FORMULA Of<D> log(D d, Of<D> x) { return scalar::log(VectorMath<D>(d), x); }
template <bool of_halves = false, class D> DESCEND_FORMULA Of<D> quick_exp_parts(D d, Of<D> x, Of<D>& shifted) {
  return scalar::quick_exp_parts<of_halves>(VectorMath<D>(d), x, shifted);
}
template <bool of_halves = false, class D> DESCEND_FORMULA Of<D> quick_expm1_of_negative(D d, Of<D> x) {
  return scalar::quick_expm1_of_negative<of_halves>(VectorMath<D>(d), x);
}

#ifndef DESCEND_EMULATED  // tests/plugin/emulated.h has its own
// 2^x in the card's own way: within 2^-22 of itself, and 0 below 2^-126.  Its bits are not everybody's: for what is
// rounded so that they do not show.
DESCEND_FORMULA float exp2_of_card(float x) {
  asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  return x;
}
#endif

// A functor of doubles for numbers of any type (in_double_cpu-inl.h).
template <class F> struct InDouble {
  F f;
  template <class D, class... V> DESCEND_FORMULA Of<D> operator()(D, V... v) const {
    return static_cast<Of<D>>(f(Lane<double>{}, static_cast<double>(v)...));
  }
};

}  // namespace descend::cuda
