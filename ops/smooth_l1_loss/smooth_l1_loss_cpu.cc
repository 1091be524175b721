// SPDX-License-Identifier: MIT
// The smooth L1 loss on the CPU.
//
// In double, whatever the dtypes: no difference of two floats overflows there, no product of the three factors leaves
// its range, and the reciprocal of beta and the count stands for two divisions.  So a result is rounded once in effect.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/smooth_l1_loss/smooth_l1_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/in_double_cpu-inl.h"
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

void SmoothL1LossCpu(const SmoothL1LossArgs& a, void* const* data) {
  elementwise<float>(a.points, data, a.rounded, InDouble<Loss>{Loss(a.beta)});
}

void SmoothL1LossTotalCpu(const SmoothL1LossTotalArgs& a, void* const* data) {
  const double total = sum(a.points, data, Loss(a.beta));
  const double count = static_cast<double>(a.points.points());
  store_number(a.mean ? total / count : total, a.rounded, a.result, data[2]);
}

void SmoothL1LossBackwardCpu(const SmoothL1LossBackwardArgs& a, void* const* data) {
  elementwise<float>(a.points, data, a.rounded, InDouble<Gradient>{Gradient(a.beta, a.divisor)});
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
