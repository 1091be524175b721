// SPDX-License-Identifier: MIT
// How fast the negative log likelihood loss is: planes and rows of classes, from small calls to memory's size.
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"
#include "bench/bench.h"

namespace descend::bench {
namespace {

constexpr int64_t kNone = 0, kMean = 1, kIgnored = -100;

// self's values are not read, so that the gradient's own tensor may stand for it.
struct Planes {
  Tensor gradOutput, target, weight, total, out;
  int64_t reduction;
  Planes(aclDataType dtype, int64_t n, int64_t classes, int64_t edge, int64_t r)
      : gradOutput(dtype, r == kNone ? std::vector<int64_t>{n, edge, edge} : std::vector<int64_t>{1}),
        target(ACL_INT64, {n, edge, edge}),
        weight(dtype, {classes}),
        total(dtype, {1}),
        out(dtype, {n, classes, edge, edge}),
        reduction(r) {}
  PhaseOne phase_one() {
    return [this](uint64_t* size, aclOpExecutor** executor) {
      return aclnnNLLLoss2dBackwardGetWorkspaceSize(gradOutput, out, target, weight, reduction, kIgnored, total, out,
                                                    size, executor);
    };
  }
};

void nll_loss2d_backward(benchmark::State& state, aclDataType dtype, int64_t reduction) {
  Planes call(dtype, state.range(0), state.range(1), state.range(2), reduction);
  time_call(state, {&call.gradOutput, &call.target, &call.out}, call.phase_one(), aclnnNLLLoss2dBackward);
}
void nll_loss2d_backward_phase_one(benchmark::State& state) {
  Planes call(ACL_FLOAT, 2, 5, 2, kMean);
  time_phase_one(state, call.phase_one(), aclnnNLLLoss2dBackward);
}
void nll_loss_backward(benchmark::State& state, aclDataType dtype, int64_t reduction) {
  const int64_t n = state.range(0), classes = state.range(1);
  const Tensor gradOutput(dtype, {reduction == kNone ? n : 1}), target(ACL_INT64, {n}), weight(dtype, {classes}),
      total(dtype, {1}), out(dtype, {n, classes});
  time_call(
      state, {&gradOutput, &target, &out},
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnNLLLossBackwardGetWorkspaceSize(gradOutput, out, target, weight, reduction, kIgnored, total, out,
                                                    size, executor);
      },
      aclnnNLLLossBackward);
}
// Of self one element a position has to be read: as many bytes as a loss without reduction has.
void nll_loss2d(benchmark::State& state, aclDataType dtype, int64_t reduction) {
  const int64_t n = state.range(0), classes = state.range(1), edge = state.range(2);
  const Tensor self(dtype, {n, classes, edge, edge}), target(ACL_INT64, {n, edge, edge}), weight(dtype, {classes}),
      losses(dtype, {n, edge, edge}), loss(dtype, {1}), total(dtype, {1});
  const Tensor& out = reduction == kNone ? losses : loss;
  time_call(
      state, {&target, &losses, &out},
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnNLLLoss2dGetWorkspaceSize(self, target, weight, reduction, kIgnored, out, total, size, executor);
      },
      aclnnNLLLoss2d);
}
void nll_loss(benchmark::State& state, aclDataType dtype, int64_t reduction) {
  const int64_t n = state.range(0), classes = state.range(1);
  const Tensor self(dtype, {n, classes}), target(ACL_INT64, {n}), weight(dtype, {classes}), losses(dtype, {n}),
      loss(dtype, {1}), total(dtype, {1});
  const Tensor& out = reduction == kNone ? losses : loss;
  time_call(
      state, {&target, &losses, &out},
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnNLLLossGetWorkspaceSize(self, target, weight, reduction, kIgnored, out, total, size, executor);
      },
      aclnnNLLLoss);
}

void planes(benchmark::internal::Benchmark* b) {
  b->Args({3, 5, 1})->Args({1, 21, 32})->Args({2, 1000, 7})->Args({4, 21, 512})->UseManualTime();
}
void rows(benchmark::internal::Benchmark* b) {
  b->Args({16, 10})->Args({1 << 18, 10})->Args({256, 1000})->Args({256, 50000})->UseManualTime();
}

BENCHMARK(nll_loss2d_backward_phase_one)->UseManualTime();
BENCHMARK_CAPTURE(nll_loss2d_backward, float_mean, ACL_FLOAT, kMean)->Apply(planes);
BENCHMARK_CAPTURE(nll_loss2d_backward, float_none, ACL_FLOAT, kNone)->Apply(planes);
BENCHMARK_CAPTURE(nll_loss2d_backward, fp16_mean, ACL_FLOAT16, kMean)->Apply(planes);
BENCHMARK_CAPTURE(nll_loss2d_backward, bf16_none, ACL_BF16, kNone)->Apply(planes);
BENCHMARK_CAPTURE(nll_loss_backward, float_mean, ACL_FLOAT, kMean)->Apply(rows);
BENCHMARK_CAPTURE(nll_loss_backward, fp16_none, ACL_FLOAT16, kNone)->Apply(rows);
BENCHMARK_CAPTURE(nll_loss2d, float_mean, ACL_FLOAT, kMean)->Apply(planes);
BENCHMARK_CAPTURE(nll_loss2d, fp16_none, ACL_FLOAT16, kNone)->Apply(planes);
BENCHMARK_CAPTURE(nll_loss, float_mean, ACL_FLOAT, kMean)->Apply(rows);

}  // namespace
}  // namespace descend::bench
