// SPDX-License-Identifier: MIT
// The smooth L1 loss on the CPU.
//
// The loss of FLOAT is computed in double: no difference of two floats overflows there, and what the difference loses,
// which squaring would double, is nothing.  Of FLOAT16 and BF16 float holds enough.
//
// So it does of the gradient, which does not square, if gradOut / (beta * count) is kept as the sum of two floats.
// Numbers that float may not hold (an unusual beta, gradOut or slope) are left to double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/smooth_l1_loss/smooth_l1_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/in_double_cpu-inl.h"
#include "src/loops/math-inl.h"
#include "src/loops/reduce_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// With c the distance up to beta, c * (distance - c / 2) / beta is the square near the target and the line far from it.
template <class D, class V> HWY_INLINE V up_to_beta(D d, V distance, double beta) {
  return at_most(d, static_cast<hn::TFromD<D>>(beta), distance);
}
template <class D, class V> HWY_INLINE V less_half(D d, V distance, V c) {
  return negative_mul_add(d, c, hn::Set(d, hn::TFromD<D>{0.5}), distance);
}
struct Loss {
  double beta, scale;

  // A beta of 0 is one below every distance there is.
  explicit Loss(float b) : beta(b > 0 ? double{b} : 0x1p-500), scale(1 / beta) {}

  template <class D, class V> HWY_INLINE V operator()(D d, V self, V target) const {
    const V distance = hn::Abs(hn::Sub(self, target)), c = up_to_beta(d, distance, beta);
    return hn::Mul(hn::Mul(c, hn::Set(d, static_cast<hn::TFromD<D>>(scale))), less_half(d, distance, c));
  }
};
// Adds the loss to a sum, or beta times the loss, which in double is never too small or too large.
template <bool times_beta> struct AddLoss {
  Loss loss;

  template <class D, class V> HWY_INLINE V operator()(D d, V sum, V self, V target) const {
    const V distance = hn::Abs(hn::Sub(self, target)), c = up_to_beta(d, distance, loss.beta);
    const V rest = less_half(d, distance, c);
    if constexpr (times_beta) return mul_add(d, c, rest, sum);
    return mul_add(d, hn::Mul(c, hn::Set(d, static_cast<hn::TFromD<D>>(loss.scale))), rest, sum);
  }
};

struct Gradient {
  double beta;
  double near;  // what x is multiplied with below beta
  double far;   // the slope from beta on

  Gradient(float b, double divisor) : beta(b), near(1 / (beta * divisor)), far(1 / divisor) {}

  template <class D, class V> HWY_INLINE V operator()(D d, V gradOut, V self, V target) const {
    const V x = hn::Sub(self, target), distance = hn::Abs(x);
    // 0 and NaN are their own signs.
    const V sign = hn::IfThenElse(hn::Gt(distance, hn::Zero(d)), hn::CopySign(hn::Set(d, far), x), x);
    const V slope = hn::IfThenElse(hn::Lt(distance, hn::Set(d, beta)), hn::Mul(x, hn::Set(d, near)), sign);
    return hn::Mul(gradOut, slope);
  }
};
struct GradientOfOne {
  Gradient gradient;
  double gradOut;

  template <class D, class V> HWY_INLINE V operator()(D d, V self, V target) const {
    return gradient(d, hn::Set(d, gradOut), self, target);
  }
};

// A double as the sum of two floats.
struct TwoFloats {
  float high, low;
  explicit TwoFloats(double x) : high(static_cast<float>(x)), low(static_cast<float>(x - double{high})) {}
};
template <class D, class V> HWY_INLINE V times(D d, V v, const TwoFloats& factor) {
  return mul_add(d, v, hn::Set(d, factor.high), hn::Mul(v, hn::Set(d, factor.low)));
}
template <class D, class V> HWY_INLINE V times(D d, V v, float factor) { return hn::Mul(v, hn::Set(d, factor)); }

// x / beta * factor, or what it is at beta: that is the slope of any larger x.
template <class Factor> struct QuickSlope {
  Factor factor;
  float beta;

  template <class D, class V> HWY_INLINE V operator()(D d, V self, V target) const {
    return times(d, clamp(d, hn::Sub(self, target), -beta, beta), factor);
  }
};

// Of the half types: gradOut * 2^-16 is exact, and a slope times 2^16 nowhere too small for float.
struct QuickGradientOfHalves {
  QuickSlope<float> slope;

  QuickGradientOfHalves(const Gradient& g, float beta) : slope{static_cast<float>(g.near * 0x1p16), beta} {}

  template <class D, class V> HWY_INLINE V operator()(D d, V gradOut, V self, V target) const {
    return hn::Mul(hn::Mul(gradOut, hn::Set(d, 0x1p-16f)), slope(d, self, target));
  }
};
// Numbers may be so near that the slope is subnormal, and gradOut so large that it counts.
template <class Factor> struct QuickGradient {
  QuickSlope<Factor> slope;
  Gradient careful;
  static constexpr bool kHasQuick = true;

  template <class D, class V> HWY_INLINE V quick(D d, hn::Mask<D>& rare, V gradOut, V self, V target) const {
    const hn::RebindToUnsigned<D> u32;  // the bits of a distance, less one: 0 is not among the small ones
    const auto distance = hn::Sub(hn::BitCast(u32, hn::Abs(hn::Sub(self, target))), hn::Set(u32, 1));
    rare = hn::RebindMask(d, hn::Lt(distance, hn::Set(u32, 0x21800000)));  // 2^-60
    return hn::Mul(gradOut, slope(d, self, target));
  }
  template <class D, class V> V operator()(D d, V gradOut, V self, V target) const {
    auto rare = hn::FirstN(d, 0);
    const V usually = quick(d, rare, gradOut, self, target);
    return hn::IfThenElse(rare, InDouble<Gradient>{careful}(d, gradOut, self, target), usually);
  }
};

bool usual(double x) { return x >= 0x1p-20 && x <= 0x1p20; }
bool is_half(DataType dtype) { return dtype != DataType::kFloat; }

void SmoothL1LossCpu(const SmoothL1LossArgs& a, void* const* data) {
  const Loss loss(a.beta);
  if (is_half(a.rounded) && usual(a.beta)) return elementwise<float>(a.points, data, a.rounded, loss);
  elementwise<float>(a.points, data, a.rounded, InDouble<Loss>{loss});
}

void SmoothL1LossTotalCpu(const SmoothL1LossTotalArgs& a, void* const* data) {
  const Loss loss(a.beta);
  const double total = is_half(a.rounded) && usual(a.beta)
                           ? sum<float>(a.points, data, AddLoss<false>{loss})
                           : loss.scale * sum<double>(a.points, data, AddLoss<true>{loss});
  const double count = static_cast<double>(a.points.points());
  store_number(a.mean ? total / count : total, a.rounded, a.result, data[2]);
}

void SmoothL1LossBackwardCpu(const SmoothL1LossBackwardArgs& a, void* const* data) {
  const Gradient gradient(a.beta, a.divisor);
  if (!usual(a.beta) || a.divisor != 1)
    return elementwise<float>(a.points, data, a.rounded, InDouble<Gradient>{gradient});
  if (is_half(a.rounded)) return elementwise<float>(a.points, data, a.rounded, QuickGradientOfHalves(gradient, a.beta));
  const TwoFloats near(gradient.near);
  if (near.low == 0)  // as for beta = 1; the bits are the same
    return elementwise<float>(a.points, data, a.rounded, QuickGradient<float>{{near.high, a.beta}, gradient});
  elementwise<float>(a.points, data, a.rounded, QuickGradient<TwoFloats>{{near, a.beta}, gradient});
}

void SmoothL1LossBackwardOfOneCpu(const SmoothL1LossBackwardOfOneArgs& a, void* const* data) {
  const Gradient gradient(a.beta, a.divisor);
  double gradOut;
  loader<double>(a.gradOut)(data[3], 1, &gradOut);
  const double factor = gradOut * gradient.near, size = std::fabs(factor);
  if (!usual(a.beta) || !(size == 0 || (size >= 0x1p-100 && size <= 0x1p100)))
    return elementwise<float>(a.points, data, a.rounded, InDouble<GradientOfOne>{{gradient, gradOut}});
  if (is_half(a.rounded))
    return elementwise<float>(a.points, data, a.rounded, QuickSlope<float>{static_cast<float>(factor), a.beta});
  elementwise<float>(a.points, data, a.rounded, QuickSlope<TwoFloats>{TwoFloats(factor), a.beta});
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(SmoothL1LossCpu);
HWY_EXPORT(SmoothL1LossTotalCpu);
HWY_EXPORT(SmoothL1LossBackwardCpu);
HWY_EXPORT(SmoothL1LossBackwardOfOneCpu);

Status smooth_l1_loss(const SmoothL1LossArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(SmoothL1LossCpu)(a, data);
  return {};
}
Status smooth_l1_loss_total(const SmoothL1LossTotalArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(SmoothL1LossTotalCpu)(a, data);
  return {};
}
Status smooth_l1_loss_backward(const SmoothL1LossBackwardArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(SmoothL1LossBackwardCpu)(a, data);
  return {};
}
Status smooth_l1_loss_backward_of_one(const SmoothL1LossBackwardOfOneArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(SmoothL1LossBackwardOfOneCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered[] = {
    cpu_kernels().add(kSmoothL1Loss, smooth_l1_loss), cpu_kernels().add(kSmoothL1LossTotal, smooth_l1_loss_total),
    cpu_kernels().add(kSmoothL1LossBackward, smooth_l1_loss_backward),
    cpu_kernels().add(kSmoothL1LossBackwardOfOne, smooth_l1_loss_backward_of_one)};

}  // namespace
}  // namespace descend
#endif
