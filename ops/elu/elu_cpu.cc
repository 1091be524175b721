// SPDX-License-Identifier: MIT
// ELU on the CPU.
//
// Coefficients that are products of the scalars, and the slopes of the gradient, are kept as the sum of two numbers of
// the compute type and multiplied with one rounding: however alpha, scale and inputScale are chosen, results stay
// within the 2 ulp of the page.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elu/elu_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/elu/elu_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// a * b as the sum of two numbers.
template <class T> struct Coefficient {
  T high, low;
  Coefficient(double a, double b) {
    const double product = a * b;
    high = static_cast<T>(product);
    // Two floats' product is exact in double; of two doubles fma gives the rest.
    const double rest = sizeof(T) == sizeof(float) ? product - double{high} : std::fma(a, b, -product);
    low = std::isfinite(high) ? static_cast<T>(rest) : T{0};
  }
  // Far enough from the ends of the range that products with numbers near 1 need no care.
  bool ordinary() const { return std::fabs(high) >= T(0x1p-20) && std::fabs(high) <= T(0x1p20); }
};

// v * (high + low), rounded once; infinities and NaN as v * high has them.
template <class D, class V> V times(D d, V v, V high, V low) {
  const V product = hn::Mul(v, high);
  return hn::IfThenElse(hn::IsFinite(product), mul_add(d, v, high, hn::Mul(v, low)), product);
}

// Functors hold scalars and broadcast them inside: vectors have no size on SVE, so none can be a member.
template <class T> struct Value {
  T scale, inputScale;
  Coefficient<T> negative;  // alpha * scale

  template <class D, class V> V operator()(D d, V x) const {
    V low;
    const V high = two_product(d, x, hn::Set(d, inputScale), low);
    const V below = times(d, expm1(d, high, low), hn::Set(d, negative.high), hn::Set(d, negative.low));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, scale)), below);
  }
};

// The same for inputScale 1 and an ordinary coefficient, in half the operations.
template <class T> struct QuickValue {
  T scale;
  Coefficient<T> negative;

  template <class D, class V> HWY_INLINE V operator()(D d, V x) const {
    const V e = quick_expm1_of_negative(d, x);
    const V below = mul_add(d, e, hn::Set(d, negative.high), hn::Mul(e, hn::Set(d, negative.low)));
    return hn::IfThenElse(hn::Le(x, hn::Zero(d)), below, hn::Mul(x, hn::Set(d, scale)));
  }
};

// With a negative inputScale the exponential grows.  Where it is large the -1 no longer counts, and its power of two is
// applied last, so that only a result that is too large is infinite.
template <class T> struct GrowingValue {
  Value<T> value;

  template <class D, class V> V operator()(D d, V x) const {
    V low, k, m_low;
    const V high = two_product(d, x, hn::Set(d, value.inputScale), low);
    const V m = exp_parts(d, high, low, k, m_low);
    const V factor = hn::Set(d, value.negative.high), plain = hn::Mul(m, factor);
    const V rest = mul_add(d, m, hn::Set(d, value.negative.low), hn::Mul(m_low, factor));
    const V product = hn::IfThenElse(hn::IsFinite(plain), mul_add(d, m, factor, rest), plain);
    const V large = scale_by_power_of_two(d, product, k);
    // Up to where a long double's exponential is finite; beyond, expm1 is infinite and 0 times it NaN.
    const auto in_range = hn::And(hn::Gt(high, hn::Set(d, T{60})), hn::Lt(high, hn::Set(d, T{11356})));
    const auto exponential = hn::And(hn::Le(x, hn::Zero(d)), in_range);
    return hn::IfThenElse(exponential, large, value(d, x));
  }
};

struct GradientFromInput {
  float scale, inputScale;
  Coefficient<float> factor;  // inputScale * alpha * scale

  template <class D, class V> V operator()(D d, V gradOutput, V x) const {
    V argument_low, k, m_low, slope_low;
    const V argument = two_product(d, x, hn::Set(d, inputScale), argument_low);
    const V m = exp_parts(d, argument, argument_low, k, m_low);
    const V high = hn::Set(d, factor.high);
    V slope = two_product(d, m, high, slope_low);
    slope_low = mul_add(d, m, hn::Set(d, factor.low), mul_add(d, m_low, high, slope_low));
    // Where double's exp is 0 or infinite so is the slope, and gradOutput times it may be NaN.
    const V infinity = hn::Inf(d), zero = hn::Zero(d);
    const auto vanishes = hn::Lt(argument, hn::Set(d, -745.13324f)), explodes = hn::Gt(argument, hn::Set(d, 709.7827f));
    slope = hn::IfThenElse(explodes, hn::Mul(high, infinity), hn::IfThenElse(vanishes, hn::Mul(high, zero), slope));
    slope_low = hn::IfThenZeroElse(hn::Or(vanishes, explodes), slope_low);
    // exp's power of two is applied in two parts: what keeps the slope a normal number before gradOutput, so that their
    // product overflows or vanishes only if the result does, and the rest after it.
    const V before = hn::Max(hn::Min(k, hn::Set(d, 60.0f)), hn::Set(d, -90.0f));
    const V power = formulas::power_of_two(VectorMath<D>{d}, before);
    const V product = times(d, gradOutput, hn::Mul(slope, power), hn::Mul(slope_low, power));
    const V below = scale_by_power_of_two(d, product, hn::Sub(k, before));
    // x <= 0 and not !(x > 0): a NaN takes the positive branch, as the API does.
    return hn::IfThenElse(hn::Le(x, hn::Zero(d)), below, hn::Mul(gradOutput, hn::Set(d, scale)));
  }
};

// The same for inputScale 1 and an ordinary factor, in half the operations.  Only where exp is so small that gradOutput
// could make up for it is the careful form needed: a lane's result depends on that lane alone all the same.
struct QuickGradientFromInput {
  GradientFromInput careful;

  template <class D, class V> HWY_INLINE V operator()(D d, V gradOutput, V x) const {
    const V floor = hn::Set(d, -69.0f);
    V k;
    const V m = quick_exp_parts(d, hn::Max(floor, hn::Min(x, hn::Zero(d))), k);
    const V power = formulas::power_of_two(VectorMath<D>{d}, k);
    const V slope = mul_add(d, m, hn::Set(d, careful.factor.high), hn::Mul(m, hn::Set(d, careful.factor.low)));
    const V below = hn::Mul(gradOutput, hn::Mul(slope, power));
    const V quick = hn::IfThenElse(hn::Le(x, hn::Zero(d)), below, hn::Mul(gradOutput, hn::Set(d, careful.scale)));
    const auto rare = hn::Lt(x, floor);
    if (HWY_LIKELY(hn::AllFalse(d, rare))) return quick;
    return hn::IfThenElse(rare, careful(d, gradOutput, x), quick);
  }
};

struct GradientFromResult {
  float scale, inputScale;
  Coefficient<float> negative;  // alpha * scale

  template <class D, class V> V operator()(D d, V gradOutput, V y) const {
    // Exact where it cancels, near y = -alpha * scale; what negative.high lacks comes in after the product.
    const V sum = hn::Add(y, hn::Set(d, negative.high)), factor = hn::Set(d, inputScale);
    V product_low;
    const V product = two_product(d, sum, factor, product_low);
    product_low = mul_add(d, factor, hn::Set(d, negative.low), product_low);
    const V slope = hn::Add(product, product_low);  // not 0 where only negative.low is left
    const V slope_low = hn::Add(hn::Sub(product, slope), product_low);
    const V below = times(d, gradOutput, slope, slope_low);
    return hn::IfThenElse(hn::Le(y, hn::Zero(d)), below, hn::Mul(gradOutput, hn::Set(d, scale)));
  }
};

template <class T> void elu_in(const EluArgs& a, void* const* data) {
  const EluNumbers& n = a.numbers;
  const Value<T> value{static_cast<T>(n.scale), static_cast<T>(n.inputScale), {n.alpha, n.scale}};
  if (n.inputScale < 0) return elementwise<T>(a.points, data, a.rounded, GrowingValue<T>{value});
  if (n.inputScale == 1 && value.negative.ordinary())
    return elementwise<T>(a.points, data, a.rounded, QuickValue<T>{value.scale, value.negative});
  elementwise<T>(a.points, data, a.rounded, value);
}

void EluCpu(const EluArgs& a, void* const* data) {
  a.rounded == DataType::kDouble ? elu_in<double>(a, data) : elu_in<float>(a, data);
}

void EluBackwardCpu(const EluBackwardArgs& a, void* const* data) {
  const EluNumbers& n = a.numbers;
  const float scale = static_cast<float>(n.scale), inputScale = static_cast<float>(n.inputScale);
  if (a.isResult)
    return elementwise<float>(a.points, data, a.rounded, GradientFromResult{scale, inputScale, {n.alpha, n.scale}});
  const GradientFromInput gradient{scale, inputScale, {n.inputScale, n.alpha * n.scale}};
  if (n.inputScale == 1 && gradient.factor.ordinary())
    return elementwise<float>(a.points, data, a.rounded, QuickGradientFromInput{gradient});
  elementwise<float>(a.points, data, a.rounded, gradient);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(EluCpu);
HWY_EXPORT(EluBackwardCpu);

Status elu(const EluArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(EluCpu)(a, data);
  return {};
}
Status elu_backward(const EluBackwardArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(EluBackwardCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered[] = {cpu_kernels().add(kElu, elu),
                                            cpu_kernels().add(kEluBackward, elu_backward)};

}  // namespace
}  // namespace descend
#endif
