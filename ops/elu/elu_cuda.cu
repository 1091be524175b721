// SPDX-License-Identifier: MIT
// ELU on NVIDIA GPUs.
#include "ops/elu/elu_kernels.h"
#include "src/loops/elementwise.cuh"

namespace descend::cuda {
namespace {

#include "ops/elu/elu_formulas.inc"

template <class T> Status elu_in(const EluArgs& a, void* const* data, Launch& launch) {
  return run_elu<T>(a.numbers, a.rounded,
                    [&](const auto& f) { return elementwise<T>(a.points, data, a.rounded, f, launch); });
}
Status elu(const EluArgs& a, void* const* data, Launch& launch) {
  return a.rounded == DataType::kDouble ? elu_in<double>(a, data, launch) : elu_in<float>(a, data, launch);
}
Status elu_backward(const EluBackwardArgs& a, void* const* data, Launch& launch) {
  return run_elu_backward(a.numbers, a.isResult, a.rounded,
                          [&](const auto& f) { return elementwise<float>(a.points, data, a.rounded, f, launch); });
}
[[maybe_unused]] const bool registered[] = {cuda_kernels().add(kElu, elu),
                                            cuda_kernels().add(kEluBackward, elu_backward)};

}  // namespace
}  // namespace descend::cuda
