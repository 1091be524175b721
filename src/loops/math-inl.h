// SPDX-License-Identifier: MIT
// exp, expm1, log and what else keeps a kernel's result within 2 ulp, on Highway's vectors.  Compiled once per SIMD
// target; every target and math_scalar.h give the same bits.  Kernels fuse with mul_add from here, never with
// hwy::MulAdd, which does not fuse on the target SCALAR.
//
// For float and double; the error bounds and the ranges are stated with the formulas in math_formulas.inc:
//   exp(d, x)                 exp(d, high, low)           exp of an unevaluated sum
//   expm1(d, x)               expm1(d, high, low)
//   log(d, x)
//   two_product(d, a, b, low)                             a * b without error: the value returned, plus low
//   exp_parts(d, high, low, k, m_low)                     exp(high + low) = (returned + m_low) * 2^k
//   scale_by_power_of_two(d, v, k)                        v * 2^k, rounded once
//   quick_exp_parts<of_halves>(d, x, shifted)             half the work, twice the error; for halves less; see there
//   brief_exp_parts(d, x, shifted)                        less still, for halves; see there
//   quick_expm1_of_negative<of_halves>(d, x)
//   at_most(d, bound, x)      clamp(d, x, low, high)             bounds are not 0; a NaN stays
//   mul_add(d, a, b, c)       negative_mul_add(d, a, b, c)       a * b + c and c - a * b, rounded once
#if defined(DESCEND_LOOPS_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_MATH_INL_H
#undef DESCEND_LOOPS_MATH_INL_H
#else
#define DESCEND_LOOPS_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The formulas, and the operations they are made of, keep to themselves: found by argument-dependent lookup they would
// be ambiguous with the functions below.
namespace formulas {

// The smaller, or larger, of x and a bound that is neither 0 nor NaN.  A NaN stays, which not every target's own
// minimum and maximum say: those of x86 are their second operand then, and of NEON's the ones that Highway does not use
// are NaN.
template <class V> HWY_INLINE V smaller(V bound, V x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(bound, x);
#else
  return hn::IfThenElse(hn::Lt(bound, x), bound, x);
#endif
}
template <class V> HWY_INLINE V larger(V bound, V x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}
#if HWY_TARGET == HWY_NEON
using Floats = hn::Vec128<float>;
using Doubles = hn::Vec128<double>;
HWY_INLINE Floats smaller(Floats bound, Floats x) { return Floats(vminq_f32(bound.raw, x.raw)); }
HWY_INLINE Floats larger(Floats bound, Floats x) { return Floats(vmaxq_f32(bound.raw, x.raw)); }
HWY_INLINE Doubles smaller(Doubles bound, Doubles x) { return Doubles(vminq_f64(bound.raw, x.raw)); }
HWY_INLINE Doubles larger(Doubles bound, Doubles x) { return Doubles(vmaxq_f64(bound.raw, x.raw)); }
#endif

template <class D> struct VectorMath {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  using Unsigned = hn::RebindToUnsigned<D>;
  using U = hn::Vec<Unsigned>;
  using Integer = hn::TFromD<Unsigned>;
  D d;

  HWY_INLINE V set(T x) const { return hn::Set(d, x); }
  HWY_INLINE V add(V a, V b) const { return hn::Add(a, b); }
  HWY_INLINE V sub(V a, V b) const { return hn::Sub(a, b); }
  HWY_INLINE V mul(V a, V b) const { return hn::Mul(a, b); }
  HWY_INLINE V div(V a, V b) const { return hn::Div(a, b); }
  HWY_INLINE V neg(V a) const { return hn::Neg(a); }
  HWY_INLINE V abs(V a) const { return hn::Abs(a); }
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE V mul_add(V a, V b, V c) const { return V(std::fma(a.raw, b.raw, c.raw)); }
  HWY_INLINE V negative_mul_add(V a, V b, V c) const { return V(std::fma(-a.raw, b.raw, c.raw)); }
#else
  HWY_INLINE V mul_add(V a, V b, V c) const { return hn::MulAdd(a, b, c); }
  HWY_INLINE V negative_mul_add(V a, V b, V c) const { return hn::NegMulAdd(a, b, c); }
#endif
  HWY_INLINE V at_most(T bound, V x) const { return smaller(set(bound), x); }
  HWY_INLINE V at_least(T bound, V x) const { return larger(set(bound), x); }
  // No NaN comes to these, or none that the result shows.
  HWY_INLINE V no_less(T bound, V x) const { return hn::Max(set(bound), x); }
  HWY_INLINE V within(T low, T high, V x) const { return no_less(low, hn::Min(set(high), x)); }
  HWY_INLINE auto lt(V a, V b) const { return hn::Lt(a, b); }
  HWY_INLINE auto le(V a, V b) const { return hn::Le(a, b); }
  HWY_INLINE auto eq(V a, V b) const { return hn::Eq(a, b); }
  template <class M> HWY_INLINE V select(M which, V yes, V no) const { return hn::IfThenElse(which, yes, no); }
  HWY_INLINE U bits(V a) const { return hn::BitCast(Unsigned(), a); }
  HWY_INLINE V value(U a) const { return hn::BitCast(d, a); }
  HWY_INLINE U integer(Integer a) const { return hn::Set(Unsigned(), a); }
  HWY_INLINE U integer_add(U a, Integer b) const { return hn::Add(a, integer(b)); }
  HWY_INLINE U integer_and(U a, Integer b) const { return hn::And(a, integer(b)); }
  HWY_INLINE U integer_or(U a, U b) const { return hn::Or(a, b); }
  template <int n> HWY_INLINE U shift_left(U a) const { return hn::ShiftLeft<n>(a); }
  template <int n> HWY_INLINE U shift_right(U a) const { return hn::ShiftRight<n>(a); }
};

#define DESCEND_MATH HWY_INLINE
#include "src/loops/math_formulas.inc"
#undef DESCEND_MATH

}  // namespace formulas
using formulas::VectorMath;

template <class D, class V = hn::Vec<D>> HWY_INLINE V mul_add(D d, V a, V b, V c) {
  return VectorMath<D>{d}.mul_add(a, b, c);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V negative_mul_add(D d, V a, V b, V c) {
  return VectorMath<D>{d}.negative_mul_add(a, b, c);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V at_most(D d, hn::TFromD<D> bound, V x) {
  return VectorMath<D>{d}.at_most(bound, x);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V clamp(D d, V x, hn::TFromD<D> low, hn::TFromD<D> high) {
  return formulas::clamp(VectorMath<D>{d}, x, low, high);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V two_product(D d, V a, V b, V& low) {
  return formulas::two_product(VectorMath<D>{d}, a, b, low);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V scale_by_power_of_two(D d, V v, V k) {
  return formulas::scale_by_power_of_two(VectorMath<D>{d}, v, k);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V exp_parts(D d, V high, V low, V& k, V& m_low) {
  return formulas::exp_parts(VectorMath<D>{d}, high, low, k, m_low);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V exp(D d, V x) { return formulas::exp(VectorMath<D>{d}, x); }
template <class D, class V = hn::Vec<D>> HWY_INLINE V exp(D d, V high, V low) {
  return formulas::exp(VectorMath<D>{d}, high, low);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V expm1(D d, V x) { return formulas::expm1(VectorMath<D>{d}, x); }
template <class D, class V = hn::Vec<D>> HWY_INLINE V expm1(D d, V high, V low) {
  return formulas::expm1(VectorMath<D>{d}, high, low);
}
template <bool of_halves = false, class D, class V = hn::Vec<D>> HWY_INLINE V quick_exp_parts(D d, V x, V& shifted) {
  return formulas::quick_exp_parts<of_halves>(VectorMath<D>{d}, x, shifted);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V brief_exp_parts(D d, V x, V& shifted) {
  return formulas::brief_exp_parts(VectorMath<D>{d}, x, shifted);
}
template <bool of_halves = false, class D, class V = hn::Vec<D>> HWY_INLINE V quick_expm1_of_negative(D d, V x) {
  return formulas::quick_expm1_of_negative<of_halves>(VectorMath<D>{d}, x);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V log(D d, V x) { return formulas::log(VectorMath<D>{d}, x); }

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
