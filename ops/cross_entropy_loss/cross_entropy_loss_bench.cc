// SPDX-License-Identifier: MIT
// How fast the cross entropy is: a small call, image classes, and vocabularies of language models.
#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "bench/bench.h"

namespace descend::bench {
namespace {

char kMean[] = "mean";
constexpr int64_t kIgnored = -100;

struct Gradient {
  Tensor gradLoss, logProb, target, weight, out;
  double smoothing;
  Gradient(aclDataType dtype, int64_t rows, int64_t classes, double s)
      : gradLoss(dtype, {1}),
        logProb(dtype, {rows, classes}),
        target(ACL_INT64, {rows}),
        weight(ACL_FLOAT, {classes}),
        out(dtype, {rows, classes}),
        smoothing(s) {}
  PhaseOne phase_one() {
    return [this](uint64_t* size, aclOpExecutor** executor) {
      return aclnnCrossEntropyLossGradGetWorkspaceSize(gradLoss, logProb, target, weight, nullptr, nullptr, kMean,
                                                       kIgnored, smoothing, 0, out, size, executor);
    };
  }
};

void cross_entropy_loss_grad(benchmark::State& state, aclDataType dtype, double smoothing) {
  Gradient call(dtype, state.range(0), state.range(1), smoothing);
  time_call(state, {&call.target, &call.weight, &call.logProb, &call.out}, call.phase_one(), aclnnCrossEntropyLossGrad);
}
void cross_entropy_loss_grad_phase_one(benchmark::State& state) {
  Gradient call(ACL_FLOAT, state.range(0), state.range(1), 0);
  time_phase_one(state, call.phase_one(), aclnnCrossEntropyLossGrad);
}
void cross_entropy_loss(benchmark::State& state, aclDataType dtype) {
  const int64_t rows = state.range(0), classes = state.range(1);
  const Tensor input(dtype, {rows, classes}), target(ACL_INT64, {rows}), weight(ACL_FLOAT, {classes}), loss(dtype, {1}),
      logProb(dtype, {rows, classes}), zloss(dtype, {1}), lse(dtype, {rows});
  time_call(
      state, {&input, &target, &weight, &logProb},
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnCrossEntropyLossGetWorkspaceSize(input, target, weight, kMean, kIgnored, 0, 0, false, loss, logProb,
                                                     zloss, lse, size, executor);
      },
      aclnnCrossEntropyLoss);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Args({2, 8})->Args({16384, 10})->Args({1024, 1000})->Args({1, 128256})->Args({128, 128256})->UseManualTime();
}

BENCHMARK(cross_entropy_loss_grad_phase_one)->Args({2, 8})->UseManualTime();
BENCHMARK_CAPTURE(cross_entropy_loss_grad, float, ACL_FLOAT, 0)->Apply(sizes);
BENCHMARK_CAPTURE(cross_entropy_loss_grad, fp16, ACL_FLOAT16, 0)->Apply(sizes);
BENCHMARK_CAPTURE(cross_entropy_loss_grad, bf16, ACL_BF16, 0)->Apply(sizes);
BENCHMARK_CAPTURE(cross_entropy_loss_grad, float_smooth, ACL_FLOAT, 0.1)->Apply(sizes);
BENCHMARK_CAPTURE(cross_entropy_loss, float, ACL_FLOAT)->Apply(sizes);
BENCHMARK_CAPTURE(cross_entropy_loss, bf16, ACL_BF16)->Apply(sizes);

}  // namespace
}  // namespace descend::bench
