// SPDX-License-Identifier: MIT
// The functions of src/loops/math-inl.h, compiled for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/numerics/math_functions.cc"
#include <hwy/foreach_target.h>

#include "src/loops/math-inl.h"
#include "tests/numerics/math_functions.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

template <class T> void evaluate(int which, int64_t n, const T* a, const T* b, T* out) {
  const hn::ScalableTag<T> d;
  constexpr T magic = scalar::MathConstants<T>::magic;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i);
    auto result = x, k = x, low = x;
    // What the quick functions are for.
    const auto limit = hn::Set(d, T(kQuickLimit)), size = hn::Abs(x);
    const auto negative = hn::Neg(hn::IfThenElse(hn::Lt(size, limit), size, limit));
    if (which == kExp) result = exp(d, x);
    if (which == kExpm1) result = expm1(d, x);
    if (which == kLog) result = log(d, x);
    if (which == kScale) result = scale_by_power_of_two(d, x, y);
    if (which == kExpPart) result = exp_parts(d, x, hn::Zero(d), k, low);
    if (which == kExpPartLow) exp_parts(d, x, hn::Zero(d), k, result);
    if (which == kExpPartPower) exp_parts(d, x, hn::Zero(d), result, low);
    if (which == kProduct) result = two_product(d, x, y, low);
    if (which == kProductLow) two_product(d, x, y, result);
    if (which == kExpOfProduct) result = two_product(d, x, y, low), result = exp(d, result, low);
    if (which == kExpm1OfProduct) result = two_product(d, x, y, low), result = expm1(d, result, low);
    if (which == kQuickExp) result = quick_exp_parts(d, negative, k);
    if (which == kQuickExpPower) quick_exp_parts(d, negative, k), result = hn::Sub(k, hn::Set(d, magic));
    if (which == kQuickExpm1) result = quick_expm1_of_negative(d, negative);
    if constexpr (sizeof(T) == 4) {
      if (which == kHalvesExp) result = quick_exp_parts<true>(d, negative, k);
      if (which == kBriefExp) result = brief_exp_parts(d, negative, k);
      if (which == kHalvesExpm1) result = quick_expm1_of_negative<true>(d, negative);
      if (which == kExpOfMany) result = formulas::exp_of_many(VectorMath<decltype(d)>{d}, x, y);
      if (which == kExpFactor) result = hn::Zero(d);  // there is none of float
    } else {
      if (which == kExpFactor) result = formulas::exp_factor<kLiftOfMany>(VectorMath<decltype(d)>{d}, x, y);
      if (which == kHalvesExp || which == kHalvesExpm1 || which == kBriefExp || which == kExpOfMany)
        result = hn::Zero(d);  // there are none of double
    }
    hn::StoreU(result, d, out + i);
  }
}
void EvaluateFloat(int which, int64_t n, const float* a, const float* b, float* out) { evaluate(which, n, a, b, out); }
void EvaluateDouble(int which, int64_t n, const double* a, const double* b, double* out) {
  evaluate(which, n, a, b, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {

HWY_EXPORT(EvaluateFloat);
HWY_EXPORT(EvaluateDouble);

void evaluate_run(Function which, int64_t n, const float* a, const float* b, float* out) {
  HWY_DYNAMIC_DISPATCH(EvaluateFloat)(which, n, a, b, out);
}
void evaluate_run(Function which, int64_t n, const double* a, const double* b, double* out) {
  HWY_DYNAMIC_DISPATCH(EvaluateDouble)(which, n, a, b, out);
}

}  // namespace descend
#endif
