// SPDX-License-Identifier: MIT
// How fast the nearest upsampling and its gradient are: small calls, and volumes from the cache's size to memory's, in
// both orders of dimensions, by factors that have code of their own and by one that has not.
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "bench/bench.h"

namespace descend::bench {
namespace {

using Sizes = std::vector<int64_t>;
constexpr int64_t kChannels = 32;

// (N, C, D, H, W) with an edge of `edge` elements, in the order of the format.
Sizes shape_of(aclFormat format, int64_t edge) {
  if (format == ACL_FORMAT_NDHWC) return {1, edge, edge, edge, kChannels};
  return {1, kChannels, edge, edge, edge};
}

// A volume of `edge` cubed and one that is larger by the factor `halves` / 2.
struct Volumes {
  Sizes small_shape, large_shape, output_sizes;
  Tensor small, large;
  aclIntArray *outputSize, *inputSize;

  Volumes(aclDataType dtype, aclFormat format, int64_t edge, int64_t halves)
      : small_shape(shape_of(format, edge)),
        large_shape(shape_of(format, edge * halves / 2)),
        output_sizes(3, edge * halves / 2),
        small(dtype, small_shape),
        large(dtype, large_shape),
        outputSize(aclCreateIntArray(output_sizes.data(), 3)),
        inputSize(aclCreateIntArray(small_shape.data(), 5)) {
    label(small, small_shape, dtype, format);
    label(large, large_shape, dtype, format);
  }
  ~Volumes() {
    aclDestroyIntArray(outputSize);
    aclDestroyIntArray(inputSize);
  }
  Volumes(const Volumes&) = delete;
  Volumes& operator=(const Volumes&) = delete;

  PhaseOne backward() {
    return [this](uint64_t* size, aclOpExecutor** executor) {
      return aclnnUpsampleNearest3dBackwardGetWorkspaceSize(large, outputSize, inputSize, 0, 0, 0, small, size,
                                                            executor);
    };
  }
  PhaseOne forward() {
    return [this](uint64_t* size, aclOpExecutor** executor) {
      return aclnnUpsampleNearest3dGetWorkspaceSize(small, outputSize, 0, 0, 0, large, size, executor);
    };
  }

 private:
  static void label(const Tensor& t, const Sizes& shape, aclDataType dtype, aclFormat format) {
    aclInitTensor(t, shape.data(), shape.size(), dtype, nullptr, 0, format, shape.data(), shape.size(), nullptr);
  }
};

void upsample_nearest3d_backward(benchmark::State& state, aclDataType dtype, aclFormat format, int64_t halves) {
  Volumes v(dtype, format, state.range(0), halves);
  time_call(state, {&v.small, &v.large}, v.backward(), aclnnUpsampleNearest3dBackward);
}
void upsample_nearest3d(benchmark::State& state, aclDataType dtype, aclFormat format, int64_t halves) {
  Volumes v(dtype, format, state.range(0), halves);
  time_call(state, {&v.small, &v.large}, v.forward(), aclnnUpsampleNearest3d);
}
void upsample_nearest3d_backward_phase_one(benchmark::State& state) {
  Volumes v(ACL_FLOAT, ACL_FORMAT_NCDHW, state.range(0), 4);
  time_phase_one(state, v.backward(), aclnnUpsampleNearest3dBackward);
}

// Edges of the smaller volume: 2 KiB, 500 KiB and 33 MiB of float, and eight times that.
void edges(benchmark::internal::Benchmark* b) { b->Arg(2)->Arg(16)->Arg(64)->UseManualTime(); }

BENCHMARK(upsample_nearest3d_backward_phase_one)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(upsample_nearest3d_backward, float_twice, ACL_FLOAT, ACL_FORMAT_NCDHW, 4)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d_backward, bf16_twice, ACL_BF16, ACL_FORMAT_NCDHW, 4)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d_backward, float_three_halves, ACL_FLOAT, ACL_FORMAT_NCDHW, 3)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d_backward, float_twice_ndhwc, ACL_FLOAT, ACL_FORMAT_NDHWC, 4)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d_backward, fp16_twice_ndhwc, ACL_FLOAT16, ACL_FORMAT_NDHWC, 4)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d, float_twice, ACL_FLOAT, ACL_FORMAT_NCDHW, 4)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d, bf16_twice, ACL_BF16, ACL_FORMAT_NCDHW, 4)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d, float_three_halves, ACL_FLOAT, ACL_FORMAT_NCDHW, 3)->Apply(edges);
BENCHMARK_CAPTURE(upsample_nearest3d, float_twice_ndhwc, ACL_FLOAT, ACL_FORMAT_NDHWC, 4)->Apply(edges);

}  // namespace
}  // namespace descend::bench
