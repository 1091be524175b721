// SPDX-License-Identifier: MIT
// How fast ELU is: small calls, and tensors from the cache's size to memory's.
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "bench/bench.h"

namespace descend::bench {
namespace {

struct Backward {
  Tensor gradOutput, self, gradInput;
  Scalar one{1.0f};
  Backward(aclDataType dtype, int64_t n) : gradOutput(dtype, {n}), self(dtype, {n}), gradInput(dtype, {n}) {}
  PhaseOne phase_one(bool is_result) {
    return [this, is_result](uint64_t* size, aclOpExecutor** executor) {
      return aclnnEluBackwardGetWorkspaceSize(gradOutput, one, one, one, is_result, self, gradInput, size, executor);
    };
  }
};

void elu_backward(benchmark::State& state, aclDataType dtype, bool is_result) {
  Backward call(dtype, state.range(0));
  time_call(state, {&call.gradOutput, &call.self, &call.gradInput}, call.phase_one(is_result), aclnnEluBackward);
}
void elu_backward_phase_one(benchmark::State& state) {
  Backward call(ACL_FLOAT, state.range(0));
  time_phase_one(state, call.phase_one(false), aclnnEluBackward);
}
void elu(benchmark::State& state, aclDataType dtype) {
  const Tensor self(dtype, {state.range(0)}), out(dtype, {state.range(0)});
  const Scalar one(1.0f);
  time_call(
      state, {&self, &out},
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnEluGetWorkspaceSize(self, one, one, one, out, size, executor);
      },
      aclnnElu);
}

void sizes(benchmark::internal::Benchmark* b) { b->Arg(16)->Arg(1 << 14)->Arg(1 << 20)->Arg(1 << 24)->UseManualTime(); }

BENCHMARK(elu_backward_phase_one)->Arg(16)->UseManualTime();
BENCHMARK_CAPTURE(elu_backward, float_from_input, ACL_FLOAT, false)->Apply(sizes);
BENCHMARK_CAPTURE(elu_backward, float_from_result, ACL_FLOAT, true)->Apply(sizes);
BENCHMARK_CAPTURE(elu_backward, fp16_from_input, ACL_FLOAT16, false)->Apply(sizes);
BENCHMARK_CAPTURE(elu_backward, bf16_from_input, ACL_BF16, false)->Apply(sizes);
BENCHMARK_CAPTURE(elu, fp32, ACL_FLOAT)->Apply(sizes);
BENCHMARK_CAPTURE(elu, bf16, ACL_BF16)->Apply(sizes);
BENCHMARK_CAPTURE(elu, fp64, ACL_DOUBLE)->Apply(sizes);

}  // namespace
}  // namespace descend::bench
