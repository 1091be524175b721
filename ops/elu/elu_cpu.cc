// SPDX-License-Identifier: MIT
// ELU on the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elu/elu_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/elu/elu_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

#define DESCEND_FORMULA HWY_INLINE
#define DESCEND_CAREFUL_FORMULA
#include "ops/elu/elu_formulas.inc"
#undef DESCEND_FORMULA
#undef DESCEND_CAREFUL_FORMULA

template <class T> void elu_in(const EluArgs& a, void* const* data) {
  run_elu<T>(a.numbers, a.rounded, [&](const auto& f) { elementwise<T>(a.points, data, a.rounded, f); });
}
void EluCpu(const EluArgs& a, void* const* data) {
  a.rounded == DataType::kDouble ? elu_in<double>(a, data) : elu_in<float>(a, data);
}
void EluBackwardCpu(const EluBackwardArgs& a, void* const* data) {
  run_elu_backward(a.numbers, a.isResult, a.rounded,
                   [&](const auto& f) { elementwise<float>(a.points, data, a.rounded, f); });
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
