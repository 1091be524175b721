// SPDX-License-Identifier: MIT
// What an operator's *_bench.cc needs: tensors in device memory, and loops that time one or both phases of a call.
//
//   void elu_backward(benchmark::State& state) {
//     const Tensor gradOutput(ACL_FLOAT, {state.range(0)}), self(ACL_FLOAT, {state.range(0)}), ...;
//     const Scalar one(1.0f);
//     time_call(state, {&gradOutput, &self, &gradInput}, [&](uint64_t* size, aclOpExecutor** executor) {
//       return aclnnEluBackwardGetWorkspaceSize(gradOutput, one, one, one, false, self, gradInput, size, executor);
//     }, aclnnEluBackward);
//   }
//   BENCHMARK(elu_backward)->Arg(16)->Arg(1 << 24)->UseManualTime();
#pragma once
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace descend::bench {

// A contiguous tensor of arbitrary numbers between -4 and 4 (integers: 0 to 3), the same in every run.
class Tensor {
 public:
  Tensor(aclDataType dtype, const std::vector<int64_t>& shape);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  operator aclTensor*() const { return tensor_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  aclTensor* tensor_ = nullptr;
  uint64_t bytes_ = 0;
};

class Scalar {
 public:
  explicit Scalar(float value) : scalar_(aclCreateScalar(&value, ACL_FLOAT)) {}
  ~Scalar() { aclDestroyScalar(scalar_); }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;

  operator aclScalar*() const { return scalar_; }

 private:
  aclScalar* scalar_;
};

using PhaseOne = std::function<int32_t(uint64_t* workspaceSize, aclOpExecutor** executor)>;
using PhaseTwo = int32_t (*)(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);

// Times both phases and the wait for the result.  `moved` are the tensors that must be read or written once: their
// bytes give GB/s and, in the column "share", the part of this machine's copy bandwidth that is reached.
// The case is registered with UseManualTime().
void time_call(benchmark::State& state, std::initializer_list<const Tensor*> moved, const PhaseOne& one, PhaseTwo two);

// Times phase one alone.  The case is registered with UseManualTime().
void time_phase_one(benchmark::State& state, const PhaseOne& one, PhaseTwo two);

}  // namespace descend::bench
