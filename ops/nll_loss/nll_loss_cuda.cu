// SPDX-License-Identifier: MIT
// The negative log likelihood loss on NVIDIA GPUs: a thread a position, one product each.
#include "ops/nll_loss/nll_loss_cuda.cuh"
#include "src/loops/reduce.cuh"

namespace descend::cuda {
namespace {

// The loss of a position and its weight: 0 where it counts for nothing.
template <class T> struct Position { T loss, weight; };
struct Positions {
  Classes classes;
  const void *target, *self;
  int64_t class_stride;

  template <class T> __device__ __forceinline__ Position<T> at(int64_t target_at, int64_t self_at) const {
    const int64_t c = load_index(classes.index, target, target_at);
    if (!classes.counts(c)) return {0, 0};
    const T weight = classes.weight_of<T>(c);
    return {-(weight * load_as<T>(classes.dtype, self, self_at + c * class_stride)), weight};
  }
};

__global__ void __launch_bounds__(kThreads)
    losses(Positions positions, Places<3> places, int64_t points, DataType dtype, void* out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < points; i += step) {
    int64_t offset[3] = {};
    places.add(i, offset);
    const float loss = positions.at<float>(offset[1], offset[2]).loss;
    store_as(round_to(positions.classes.dtype, loss), dtype, out, offset[0]);
  }
}

struct Terms {
  Positions positions;
  Places<2> places;
  __device__ __forceinline__ void operator()(int64_t i, double (&terms)[2]) const {
    int64_t offset[2] = {};
    places.add(i, offset);
    const Position<double> at = positions.at<double>(offset[0], offset[1]);
    terms[0] = at.loss;
    terms[1] = at.weight;
  }
};
struct StoreTotals {
  void *out, *totalWeight;
  DataType rounded, out_dtype, weight_dtype;
  bool mean;
  __device__ void operator()(const double* totals) const {
    store_number(mean ? totals[0] / totals[1] : totals[0], rounded, out_dtype, out);
    store_number(totals[1], rounded, weight_dtype, totalWeight);
  }
};

Status nll_loss(const NLLLossArgs& a, void* const* data, Launch& launch) {
  const CudaLaunch on = cuda_launch(launch);
  const int64_t points = a.points.points();
  const Positions positions{Classes(a.classes, a.points.dtype[1], data[3]), data[1], data[2], a.class_stride};
  return start(on, losses, blocks_for(on, points, kThreads, 64), kThreads, 0, positions, Places<3>(a.points), points,
               a.points.dtype[0], data[0]);
}

Status nll_loss_total(const NLLLossTotalArgs& a, void* const* data, Launch& launch) {
  const Positions positions{Classes(a.classes, a.points.dtype[0], data[2]), data[0], data[1], a.class_stride};
  const StoreTotals finish{data[3], data[4], a.classes.rounded, a.out, a.totalWeight, a.mean};
  return sum<2>(a.points.points(), Terms{positions, Places<2>(a.points)}, finish, cuda_launch(launch));
}

[[maybe_unused]] const bool registered[] = {cuda_kernels().add(kNLLLoss, nll_loss),
                                            cuda_kernels().add(kNLLLossTotal, nll_loss_total)};

}  // namespace
}  // namespace descend::cuda
