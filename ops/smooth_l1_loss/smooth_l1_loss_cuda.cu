// SPDX-License-Identifier: MIT
// The smooth L1 loss on NVIDIA GPUs.
#include "ops/smooth_l1_loss/smooth_l1_loss_sum_line_cuda.cuh"
#include "src/loops/elementwise.cuh"

namespace descend::cuda {
namespace {

struct StoreTotal {
  void* to;
  DataType rounded, dtype;
  double scale, divisor;  // what the sum is multiplied with; the count for the mean
  __device__ void operator()(const double* total) const {
    store_number(scale * total[0] / divisor, rounded, dtype, to);
  }
};

Status smooth_l1_loss(const SmoothL1LossArgs& a, void* const* data, Launch& launch) {
  const Loss loss(a.beta);
  if (loss_in_float(a.rounded, a.beta)) return elementwise<float>(a.points, data, a.rounded, loss, launch);
  return elementwise<float>(a.points, data, a.rounded, InDouble<Loss>{loss}, launch);
}

Status smooth_l1_loss_total(const SmoothL1LossTotalArgs& a, void* const* data, Launch& launch) {
  const int64_t count = a.points.points();
  const Loss loss(a.beta);
  const bool in_float = is_half(a.rounded) && usual(a.beta);
  const StoreTotal finish{data[2], a.rounded, a.result, in_float ? 1 : loss.scale,
                          a.mean ? static_cast<double>(count) : 1.0};
  const CudaLaunch on = cuda_launch(launch);
  const auto& p = a.points;
  const bool line =
      p.contiguous(0) && p.contiguous(1) && p.dtype[0] == p.dtype[1] && is_aligned(data[0]) && is_aligned(data[1]);
  if (line && in_float == is_half(p.dtype[0]) && fits_line(count)) {
    Status status;
    visit(Dtypes<float, float16, bfloat16>{}, p.dtype[0], [&]<class Element> {
      const auto at = [&](int k) { return static_cast<const Element*>(data[k]); };
      status = sum_line(at(0), at(1), loss, count, finish, on);
    });
    return status;
  }
  const AnyLoss of{data[0], data[1], p.dtype[0], p.dtype[1], Places<2>(p), loss};
  return sum_anything(of, in_float, count, finish, on);
}

Status smooth_l1_loss_backward(const SmoothL1LossBackwardArgs& a, void* const* data, Launch& launch) {
  const Gradient gradient(a.beta, a.divisor);
  if (!usual(a.beta) || a.divisor != 1)
    return elementwise<float>(a.points, data, a.rounded, InDouble<Gradient>{gradient}, launch);
  if (is_half(a.rounded))
    return elementwise<float>(a.points, data, a.rounded, QuickGradientOfHalves(gradient, a.beta), launch);
  if (has_exact_slopes(a.beta))
    return elementwise<float>(a.points, data, a.rounded, GradientOfExactSlope{{1 / a.beta, a.beta}}, launch);
  const QuickGradient quick{{TwoFloats(gradient.near), a.beta}, gradient};
  return elementwise<float>(a.points, data, a.rounded, quick, launch);
}

// gradOut is one number, in memory that only the card reads: which formula it needs is seen there.
struct GradientOfOneNumber {
  const void* gradOut;
  DataType dtype;
  Gradient gradient;
  float beta;
  bool half;

  struct Prepared {
    QuickSlope<TwoFloats> two;
    QuickSlope<float> one;
    GradientOfOne careful;
    bool half, quick;

    template <class D> DESCEND_FORMULA float operator()(D d, float self, float target) const {
      if (!quick) return InDouble<GradientOfOne>{careful}(d, self, target);
      return half ? one(d, self, target) : two(d, self, target);
    }
  };
  DESCEND_FORMULA Prepared prepare() const {
    const double number = load_as<double>(dtype, gradOut, 0), factor = number * gradient.near;
    const double size = std::fabs(factor);
    const bool quick = usual(beta) && (size == 0 || (size >= 0x1p-100 && size <= 0x1p100));
    return {{TwoFloats(factor), beta}, {static_cast<float>(factor), beta}, {gradient, number}, half, quick};
  }
};

Status smooth_l1_loss_backward_of_one(const SmoothL1LossBackwardOfOneArgs& a, void* const* data, Launch& launch) {
  const GradientOfOneNumber gradient{data[3], a.gradOut, Gradient(a.beta, a.divisor), a.beta, is_half(a.rounded)};
  return elementwise<float>(a.points, data, a.rounded, gradient, launch);
}

[[maybe_unused]] const bool registered[] = {
    cuda_kernels().add(kSmoothL1Loss, smooth_l1_loss), cuda_kernels().add(kSmoothL1LossTotal, smooth_l1_loss_total),
    cuda_kernels().add(kSmoothL1LossBackward, smooth_l1_loss_backward),
    cuda_kernels().add(kSmoothL1LossBackwardOfOne, smooth_l1_loss_backward_of_one)};

}  // namespace
}  // namespace descend::cuda
