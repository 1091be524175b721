// SPDX-License-Identifier: MIT
// Tensors and timing loops of the benchmarks.
#include "bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "bench/machine.h"
#include "src/base/dtype.h"

namespace descend::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Values = Dtypes<float, float16, bfloat16, double, int32_t, int64_t, uint8_t>;

// A benchmark that fails has nothing to say about speed.
void must(int32_t code, const char* what) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s failed: %d %s\n", what, code, text ? text : "");
  std::exit(1);
}

template <class T> T number(std::mt19937& random) {
  const float value = std::uniform_real_distribution<float>(-4, 4)(random);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::min(std::abs(value), 3.0f));
  else if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return T::from(value);
}

// A number of calls between two readings of the clock, so that reading it costs nothing against a short call.
constexpr int kBatch = 256;

struct Call {
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
};

}  // namespace

Tensor::Tensor(aclDataType dtype, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  bytes_ = static_cast<uint64_t>(count) * aclDataTypeSize(dtype);
  must(aclrtMalloc(&data_, std::max<uint64_t>(bytes_, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  std::mt19937 random(1);
  const bool known = visit(Values{}, static_cast<DataType>(dtype), [&]<class T>() {
    std::vector<T> values(static_cast<size_t>(std::min<int64_t>(count, 4099)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = number<T>(random);
    // 4099 is a prime: the pattern does not line up with rows.
    for (int64_t at = 0; at < count; at += static_cast<int64_t>(values.size())) {
      const auto n = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(values.size()), count - at));
      must(aclrtMemcpy(static_cast<T*>(data_) + at, n * sizeof(T), values.data(), n * sizeof(T),
                       ACL_MEMCPY_HOST_TO_DEVICE),
           "aclrtMemcpy");
    }
  });
  must(known ? 0 : -1, "a benchmark tensor of this dtype");
  tensor_ =
      aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, ACL_FORMAT_ND, shape.data(), shape.size(), data_);
}

Tensor::~Tensor() {
  aclDestroyTensor(tensor_);
  aclrtFree(data_);
}

void time_call(benchmark::State& state, std::initializer_list<const Tensor*> moved, const PhaseOne& one, PhaseTwo two) {
  uint64_t bytes = 0;
  for (const Tensor* tensor : moved) bytes += tensor->bytes();
  aclrtStream stream = nullptr;
  must(aclrtCreateStream(&stream), "aclrtCreateStream");
  uint64_t workspaceSize = 0;
  void* workspace = nullptr;
  const auto call = [&] {
    Call call;
    must(one(&call.workspaceSize, &call.executor), "phase one");
    if (call.workspaceSize > workspaceSize) {
      workspaceSize = call.workspaceSize;
      must(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    }
    must(two(workspace, call.workspaceSize, call.executor, stream), "phase two");
  };
  call();
  must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");

  // Small calls follow one another, as in a program; of a large one each is waited for.
  const int batch = bytes < 65536 ? kBatch : 1;
  double seconds = 0;
  while (state.KeepRunningBatch(batch)) {
    const auto begin = Clock::now();
    for (int i = 0; i < batch; ++i) call();
    must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    state.SetIterationTime(elapsed);
    seconds += elapsed;
  }
  const double rate = static_cast<double>(bytes) * static_cast<double>(state.iterations()) / seconds;
  state.counters["GB/s"] = rate / 1e9;
  state.counters["share"] = rate / machine().copy_bandwidth;
  state.counters["workspace"] = static_cast<double>(workspaceSize);
  if (workspace != nullptr) must(aclrtFree(workspace), "aclrtFree");
  must(aclrtDestroyStream(stream), "aclrtDestroyStream");
}

void time_phase_one(benchmark::State& state, const PhaseOne& one, PhaseTwo two) {
  std::vector<Call> calls(kBatch);
  while (state.KeepRunningBatch(kBatch)) {
    const auto begin = Clock::now();
    for (Call& call : calls) must(one(&call.workspaceSize, &call.executor), "phase one");
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
    for (Call& call : calls) must(two(nullptr, 0, call.executor, nullptr), "phase two");  // frees the executor
    must(aclrtSynchronizeStream(nullptr), "aclrtSynchronizeStream");
  }
}

}  // namespace descend::bench
