// SPDX-License-Identifier: MIT
// The smooth L1 loss on the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/smooth_l1_loss/smooth_l1_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"
#include "src/base/host_device.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/in_double_cpu-inl.h"
#include "src/loops/math-inl.h"
#include "src/loops/reduce_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

#define DESCEND_FORMULA HWY_INLINE
#define DESCEND_CAREFUL_FORMULA
#include "ops/smooth_l1_loss/smooth_l1_loss_formulas.inc"
#undef DESCEND_FORMULA
#undef DESCEND_CAREFUL_FORMULA

void SmoothL1LossCpu(const SmoothL1LossArgs& a, void* const* data) {
  const Loss loss(a.beta);
  if (loss_in_float(a.rounded, a.beta)) return elementwise<float>(a.points, data, a.rounded, loss);
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
  if (has_exact_slopes(a.beta))
    return elementwise<float>(a.points, data, a.rounded, GradientOfExactSlope{{1 / a.beta, a.beta}});
  const QuickGradient quick{{TwoFloats(gradient.near), a.beta}, gradient};
  elementwise<float>(a.points, data, a.rounded, quick);
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
