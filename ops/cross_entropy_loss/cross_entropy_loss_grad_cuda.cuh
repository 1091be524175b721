// SPDX-License-Identifier: MIT
// What the kernels of the cross entropy's gradient share: a row's coefficients, and its elements by a thread.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_cuda.cuh"

namespace descend::cuda {
namespace {

constexpr int kMostRows = kThreads;  // of a block
template <class Element> constexpr bool kHalves = sizeof(Element) == 2;

#include "ops/cross_entropy_loss/cross_entropy_loss_grad_formulas.inc"

// result[i] = f(i, x[i], result[i]), one after the other: f is there once, and no number needs an address.
template <int V, class F>
__device__ __forceinline__ void one_by_one(const float (&x)[V], float (&result)[V], const F& f) {
#pragma unroll 1
  for (int i = 0; i < V; ++i) {
    float from = x[0], to = result[0];
#pragma unroll
    for (int j = 1; j < V; ++j)
      if (j == i) from = x[j], to = result[j];
    to = f(i, from, to);
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (j == i) result[j] = to;
  }
}

// exp(x) * scale_of(i) of V elements, as precise as results of Element show, less the scale where `labels` has a bit.
// Those that the quick form does not do are asked for together, as in evaluate().
template <class Element, int V, class ScaleOf>
__device__ __forceinline__ void scaled_exps(const float (&x)[V], const ScaleOf& scale_of, float (&result)[V],
                                            uint32_t labels = 0) {
  const Lane<float> d;
  bool any = false;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    bool rare;
    const float scale = scale_of(i);
    result[i] = quick_scaled_exp<kHalves<Element>>(d, rare, x[i], scale, labels >> i & 1 ? scale : 0.0f);
    any |= rare;
  }
  if (any)
    one_by_one(x, result, [&](int i, float one, float quick) {
      const float scale = scale_of(i);
      return std::fabs(one) <= kQuick ? quick : scaled_exp(d, one, scale) - (labels >> i & 1 ? scale : 0.0f);
    });
}
template <class Element, int V>
__device__ __forceinline__ void scaled_exps(const float (&x)[V], float scale, float (&result)[V], uint32_t labels = 0) {
  scaled_exps<Element>(
      x, [=](int) { return scale; }, result, labels);
}

// What a row's elements are made of: exp(logProb) * scale - smooth * weight, and the label's element by itself.
enum RowKind : short { kZero, kNaN, kOrdinary, kCareful };
template <class Element> struct Row {
  RowKind kind;
  Element label_element;
  int label;  // counted from the block's first column; -1 where it is not in the block
  float scale_f, smooth_f;
  double scale, smooth;
};

template <class Element> struct Gradient {
  CrossEntropyLossGradArgs a;
  Labels labels;
  const Element *gradient, *log_prob, *zloss_gradient, *lse;
  Element* out;
  const CudaScratch* scratch;
  int rows_per_block, columns_per_block;
  Divisor parts;  // of the columns
  bool adds_rows = false;

  // The sums over rows (kWeights, kRows), by all threads of a block; `few` is its shared memory.
  __device__ __forceinline__ const double* totals(double (&few)[2]) const {
    if (adds_rows) {
      sum_few_rows(labels, few);
      __syncthreads();
      return few;
    }
    wait_for_kernel_before();
    return scratch->numbers + kWeights;
  }
  __device__ Row<Element> row_of(int64_t row, int64_t first, int64_t end, const double* totals) const;
  __device__ float careful(float x, const Row<Element>& row, int64_t column) const;
};

// Launches a kernel of the gradient.  Behind kernels of the same call that count rows or add weights it may begin
// early: it reads what they write only after wait_for_kernel_before().
template <class Element, class... Parameters, class... Arguments>
Status start_behind_sums(const Gradient<Element>& g, const CudaLaunch& on,
                         void (*kernel)(Gradient<Element>, Parameters...), int64_t blocks, int threads,
                         const Arguments&... arguments) {
  return g.a.reduction == CrossEntropyReduction::kMean && !g.adds_rows
             ? start_early(on, kernel, blocks, threads, 0, g, arguments...)
             : start(on, kernel, blocks, threads, 0, g, arguments...);
}

template <class Element>
__device__ __noinline__ Row<Element> Gradient<Element>::row_of(int64_t row, int64_t first, int64_t end,
                                                               const double* totals) const {
  const bool mean = a.reduction == CrossEntropyReduction::kMean;
  const double total = mean ? totals[0] : 1;
  Row<Element> r{.label = -1};
  const int64_t label = labels[row];
  r.kind = total == 0 ? kNaN : kZero;
  if (total == 0 || label == kNoClass) return r;
  const double g = widen<double>(gradient[row * a.gradient_stride]);
  const double weight = labels.weight_of(label);
  const double at_label = g * ((1 - a.smoothing) / total) * weight;
  double rest = 0;
  if (a.smoothing != 0) {
    r.smooth = g * (a.smoothing / static_cast<double>(a.labels.classes) / total);
    rest = r.smooth * sum_of_all_weights(labels, scratch);
  }
  if (a.zloss_scale != 0) {
    const double factor = 2 * a.zloss_scale / (mean ? totals[1] : 1);
    const double z = zloss_gradient ? g + widen<double>(zloss_gradient[row * a.zloss_gradient_stride]) : g;
    rest += factor * widen<double>(lse[row * a.lse_stride]) * z;
  }
  r.scale = at_label + rest;
  r.scale_f = static_cast<float>(r.scale);
  r.smooth_f = static_cast<float>(r.smooth);
  r.kind = is_ordinary(r.scale) && (a.smoothing == 0 || is_ordinary(r.smooth)) ? kOrdinary : kCareful;
  if (label < first || label >= end) return r;
  r.label = static_cast<int>(label - first);
  const Element log_probability = log_prob[row * a.log_prob.row + label * a.log_prob.column];
  if (r.kind == kOrdinary && has_label_in_float<Element>(a)) {
    const float one[1] = {widen<float>(log_probability)};
    float result[1];
    scaled_exps<Element>(one, r.scale_f, result, 1);
    r.label_element = narrow<Element>(result[0]);
    return r;
  }
  const double of_label = LabelElement{}(Lane<double>{}, widen<double>(log_probability), at_label, rest);
  r.label_element = narrow<Element>(r.smooth == 0 ? of_label : of_label - r.smooth * weight);
  return r;
}

// An element off the label of a row whose coefficients float does not hold.
template <class Element>
__device__ __noinline__ float Gradient<Element>::careful(float x, const Row<Element>& row, int64_t column) const {
  const Lane<double> d;
  const double wide = x;
  if (a.smoothing == 0) return static_cast<float>(ExactPlain{row.scale}(d, wide));
  const ExactSmooth exact{row.scale, row.smooth};
  return static_cast<float>(labels.weight ? exact(d, wide, double{labels.weight_of(column)}) : exact(d, wide));
}

}  // namespace
}  // namespace descend::cuda
