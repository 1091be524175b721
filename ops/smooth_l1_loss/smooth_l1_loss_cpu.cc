// SPDX-License-Identifier: MIT
// The smooth L1 loss on the CPU.
//
// Sums, and elements with an unusual beta, are computed in double: no difference of two floats overflows there, no
// product of the three factors leaves its range, and the reciprocal of beta and the count stands for two divisions.
// With a usual beta float is enough for the 2 ulp of the page, if that reciprocal is kept as the sum of two floats.
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

struct Loss {
  double beta;
  double square;  // 0.5 / beta; of no use when beta is 0, for then nothing is below it

  explicit Loss(float b) : beta(b), square(0.5 / beta) {}

  template <class D, class V> HWY_INLINE V operator()(D d, V self, V target) const {
    const V distance = hn::Abs(hn::Sub(self, target));
    const V near = hn::Mul(hn::Mul(distance, distance), hn::Set(d, square));
    const V far = hn::Sub(distance, hn::Set(d, 0.5 * beta));
    return hn::IfThenElse(hn::Lt(distance, hn::Set(d, beta)), near, far);
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
bool usual(double x) { return x >= 0x1p-20 && x <= 0x1p20; }

struct QuickLoss {
  TwoFloats square;  // 0.5 / beta
  float beta;

  explicit QuickLoss(float b) : square(0.5 / double{b}), beta(b) {}

  template <class D, class V> HWY_INLINE V operator()(D d, V self, V target) const {
    V low;  // what the difference lacks: squaring would double it
    const V x = two_sum(d, self, hn::Neg(target), low), distance = hn::Abs(x), slope = times(d, x, square);
    const V near = mul_add(d, slope, hn::Add(low, low), hn::Mul(slope, x));
    const V far = hn::Sub(distance, hn::Set(d, 0.5f * beta));
    return hn::IfThenElse(hn::Lt(distance, hn::Set(d, beta)), near, far);
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

// The slope at x: that of beta is that of any larger x.
struct QuickSlope {
  TwoFloats near;
  float beta;

  template <class D, class V> HWY_INLINE V operator()(D d, V x) const {
    const V most = hn::Set(d, beta), least = hn::Set(d, -beta);
    const V below = hn::IfThenElse(hn::Lt(most, x), most, x);  // NaN stays
    return times(d, hn::IfThenElse(hn::Lt(below, least), least, below), near);
  }
};
// FLOAT16 numbers differ by 2^-24 if they differ.
struct QuickGradientOfFloat16 {
  QuickSlope slope;

  template <class D, class V> HWY_INLINE V operator()(D d, V gradOut, V self, V target) const {
    return hn::Mul(gradOut, slope(d, hn::Sub(self, target)));
  }
};
// Other numbers may be so near that the slope is subnormal, and gradOut so large that it counts.
struct QuickGradient {
  QuickSlope slope;
  Gradient careful;
  static constexpr bool kHasQuick = true;

  template <class D, class V> HWY_INLINE V quick(D d, hn::Mask<D>& rare, V gradOut, V self, V target) const {
    const V x = hn::Sub(self, target), distance = hn::Abs(x);
    rare = hn::And(hn::Lt(distance, hn::Set(d, 0x1p-60f)), hn::Gt(distance, hn::Zero(d)));
    return hn::Mul(gradOut, slope(d, x));
  }
  template <class D, class V> V operator()(D d, V gradOut, V self, V target) const {
    auto rare = hn::FirstN(d, 0);
    const V usually = quick(d, rare, gradOut, self, target);
    return hn::IfThenElse(rare, InDouble<Gradient>{careful}(d, gradOut, self, target), usually);
  }
};

void SmoothL1LossCpu(const SmoothL1LossArgs& a, void* const* data) {
  if (usual(a.beta)) return elementwise<float>(a.points, data, a.rounded, QuickLoss(a.beta));
  elementwise<float>(a.points, data, a.rounded, InDouble<Loss>{Loss(a.beta)});
}

void SmoothL1LossTotalCpu(const SmoothL1LossTotalArgs& a, void* const* data) {
  const double total =
      usual(a.beta) ? sum(a.points, data, Loss(a.beta), QuickLoss(a.beta)) : sum(a.points, data, Loss(a.beta));
  const double count = static_cast<double>(a.points.points());
  store_number(a.mean ? total / count : total, a.rounded, a.result, data[2]);
}

void SmoothL1LossBackwardCpu(const SmoothL1LossBackwardArgs& a, void* const* data) {
  const Gradient gradient(a.beta, a.divisor);
  if (!usual(a.beta) || a.divisor > 0x1p40)
    return elementwise<float>(a.points, data, a.rounded, InDouble<Gradient>{gradient});
  const QuickSlope slope{TwoFloats(gradient.near), a.beta};
  if (a.rounded == DataType::kFloat16)
    return elementwise<float>(a.points, data, a.rounded, QuickGradientOfFloat16{slope});
  elementwise<float>(a.points, data, a.rounded, QuickGradient{slope, gradient});
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
[[maybe_unused]] const bool registered[] = {cpu_kernels().add(kSmoothL1Loss, smooth_l1_loss),
                                            cpu_kernels().add(kSmoothL1LossTotal, smooth_l1_loss_total),
                                            cpu_kernels().add(kSmoothL1LossBackward, smooth_l1_loss_backward)};

}  // namespace
}  // namespace descend
#endif
