// SPDX-License-Identifier: MIT
// The negative log likelihood loss on the CPU.
//
// A position's loss is one product.  In float it is rounded once, and of two FLOAT16 or BF16 it is exact, so that
// rounding it to those is the only rounding; in double, for the sums, it is exact for all three.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nll_loss/nll_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/nll_loss/nll_loss_cpu-inl.h"
#include "ops/nll_loss/nll_loss_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// The loss and the weight of positions [first, first + n); target and self are operands k and k + 1 of the points.
template <int N, class T>
void load_losses(const NLLClasses& classes, int64_t class_stride, const Iteration<N>& points, int k, const void* target,
                 const void* self, const void* weight, int64_t first, int64_t n, T* loss, T* weights) {
  int64_t index[kTile], offset[kTile];
  HWY_ALIGN T x[kTile];
  load_classes(classes, points, k, target, first, n, index);
  load_offsets(points, k + 1, first, n, offset);
  load_weights(classes, weight, index, n, weights);
  pick(self, points.dtype[k + 1], index, n, x, [&](int64_t i, int64_t c) { return offset[i] + c * class_stride; });
  for (int64_t i = 0; i < n; ++i) loss[i] = index[i] < 0 ? T{0} : -(weights[i] * x[i]);
}

void NLLLossCpu(const NLLLossArgs& a, void* const* data) {
  const RoundRun<float> round = a.points.dtype[0] == a.classes.rounded ? nullptr : rounder<float>(a.classes.rounded);
  parallel_for(a.points.points(), kChunk, [&](int64_t begin, int64_t end) {
    HWY_ALIGN float loss[kTile], weights[kTile];
    for (int64_t first = begin; first < end; first += kTile) {
      const int64_t n = std::min(kTile, end - first);
      load_losses(a.classes, a.class_stride, a.points, 1, data[1], data[2], data[3], first, n, loss, weights);
      if (round) round(loss, n);
      store_points(a.points, 0, data[0], first, n, loss);
    }
  });
}

void NLLLossTotalCpu(const NLLLossTotalArgs& a, void* const* data) {
  const auto [loss, weight] =
      sum_term_lists<2>(a.points.points(), [&](int64_t begin, int64_t n, double(*terms)[kTile]) {
        load_losses(a.classes, a.class_stride, a.points, 0, data[0], data[1], data[2], begin, n, terms[0], terms[1]);
      });
  store_number(a.mean ? loss / weight : loss, a.classes.rounded, a.out, data[3]);
  store_number(weight, a.classes.rounded, a.totalWeight, data[4]);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(NLLLossCpu);
HWY_EXPORT(NLLLossTotalCpu);

Status nll_loss(const NLLLossArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(NLLLossCpu)(a, data);
  return {};
}
Status nll_loss_total(const NLLLossTotalArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(NLLLossTotalCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered[] = {cpu_kernels().add(kNLLLoss, nll_loss),
                                            cpu_kernels().add(kNLLLossTotal, nll_loss_total)};

}  // namespace
}  // namespace descend
#endif
