// SPDX-License-Identifier: MIT
// How fast the smooth L1 loss is: small calls, and tensors from the cache's size to memory's.
#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"
#include "bench/bench.h"

namespace descend::bench {
namespace {

constexpr int64_t kNone = 0, kMean = 1;

struct Backward {
  Tensor gradOut, self, target, gradInput;
  int64_t reduction;
  Backward(aclDataType dtype, int64_t n, int64_t r)
      : gradOut(dtype, {r == kNone ? n : 1}),
        self(dtype, {n}),
        target(dtype, {n}),
        gradInput(dtype, {n}),
        reduction(r) {}
  PhaseOne phase_one() {
    return [this](uint64_t* size, aclOpExecutor** executor) {
      return aclnnSmoothL1LossBackwardGetWorkspaceSize(gradOut, self, target, reduction, 1.0f, gradInput, size,
                                                       executor);
    };
  }
};

void smooth_l1_loss_backward(benchmark::State& state, aclDataType dtype, int64_t reduction) {
  Backward call(dtype, state.range(0), reduction);
  time_call(state, {&call.gradOut, &call.self, &call.target, &call.gradInput}, call.phase_one(),
            aclnnSmoothL1LossBackward);
}
void smooth_l1_loss_backward_phase_one(benchmark::State& state) {
  Backward call(ACL_FLOAT, state.range(0), kMean);
  time_phase_one(state, call.phase_one(), aclnnSmoothL1LossBackward);
}
void smooth_l1_loss(benchmark::State& state, aclDataType dtype, int64_t reduction) {
  const int64_t n = state.range(0);
  const Tensor self(dtype, {n}), target(dtype, {n}), result(dtype, {reduction == kNone ? n : 1});
  time_call(
      state, {&self, &target, &result},
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnSmoothL1LossGetWorkspaceSize(self, target, reduction, 1.0f, result, size, executor);
      },
      aclnnSmoothL1Loss);
}

void sizes(benchmark::internal::Benchmark* b) { b->Arg(16)->Arg(1 << 14)->Arg(1 << 20)->Arg(1 << 24)->UseManualTime(); }

BENCHMARK(smooth_l1_loss_backward_phase_one)->Arg(16)->UseManualTime();
BENCHMARK_CAPTURE(smooth_l1_loss_backward, float_none, ACL_FLOAT, kNone)->Apply(sizes);
BENCHMARK_CAPTURE(smooth_l1_loss_backward, float_mean, ACL_FLOAT, kMean)->Apply(sizes);
BENCHMARK_CAPTURE(smooth_l1_loss_backward, fp16_mean, ACL_FLOAT16, kMean)->Apply(sizes);
BENCHMARK_CAPTURE(smooth_l1_loss_backward, bf16_mean, ACL_BF16, kMean)->Apply(sizes);
BENCHMARK_CAPTURE(smooth_l1_loss, float_none, ACL_FLOAT, kNone)->Apply(sizes);
BENCHMARK_CAPTURE(smooth_l1_loss, float_mean, ACL_FLOAT, kMean)->Apply(sizes);
BENCHMARK_CAPTURE(smooth_l1_loss, bf16_mean, ACL_BF16, kMean)->Apply(sizes);

}  // namespace
}  // namespace descend::bench
