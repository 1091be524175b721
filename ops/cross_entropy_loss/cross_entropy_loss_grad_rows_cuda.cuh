// SPDX-License-Identifier: MIT
// The gradient of short rows that follow on each other, without smoothing and z-loss.
//
// A warp has some rows and asks at once for all their elements.  Rows are so short that what is done once for each
// counts: a lane a row computes its scale, and in the end the label's element, unless it is a half of an ordinary
// row, which whoever has its piece computes.  There are as many warps as rows need, in small blocks, of which none
// waits long for its last warp.  Warps that go from rows to rows, and ask for the next early, were slower, since the
// card's memory likes to be read and written from its beginning to its end; so were threads of which each finds its
// row's scale itself.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_cuda.cuh"

namespace descend::cuda {
namespace {

constexpr int kLanes = 32;
constexpr int kRowThreads = 64;  // of a block
// Pieces of a lane, at most: of rows that need no more, and of others.
template <class Element> constexpr int kFewPieces = kHalves<Element> ? 6 : 4;
template <class Element> constexpr int kManyPieces = kHalves<Element> ? 6 : 8;
constexpr int row_blocks(int pieces) { return pieces == 8 ? 12 : 16; }  // of a multiprocessor

template <class Element> bool are_plain_rows(const CrossEntropyLossGradArgs& a) {
  constexpr int64_t kShortest = 4 * Vector<Element>::kCount;
  constexpr int64_t kLongest = kManyPieces<Element> * kLanes * Vector<Element>::kCount;
  const int64_t classes = a.labels.classes;
  return classes >= kShortest && classes <= kLongest && a.log_prob.row == classes && a.out.row == classes &&
         a.is_plain();
}

// What a row's elements are made of, in the registers of its lane.
struct PlainRow {
  double scale = 0;
  float scale_f = 0;  // 0: no ordinary row, or one that does not count
  int label = -1;     // -1: it does not count, and its elements are 0
};
// As Gradient::row_of() has it where there is neither smoothing nor z-loss.
template <class Element>
__device__ __forceinline__ PlainRow plain_row(const Gradient<Element>& g, Element gradient, int64_t target,
                                              double share) {
  PlainRow r{.label = static_cast<int>(g.labels.class_of(target))};
  if (r.label < 0) return r;
  r.scale = widen<double>(gradient) * share * double{g.labels.weight_of(r.label)} + 0.0;  // never -0
  if (is_ordinary(r.scale)) r.scale_f = static_cast<float>(r.scale);
  return r;
}
template <class Element> __device__ __forceinline__ Element label_element(Element log_prob, double scale) {
  const Lane<double> d;
  const double x = widen<double>(log_prob);
  double element = LabelElement{}(d, x, scale);
  if (std::isinf(scale)) element = LabelElement{}(d, x, scale, 0.0);
  return narrow<Element>(element);
}

// The label's place in a piece of its row, or a number that is no place; -1 where its element is computed apart.
template <class Element> __device__ __forceinline__ int label_in_piece(int label, uint32_t piece) {
  return kHalves<Element> ? label - static_cast<int>(piece) * Vector<Element>::kCount : -1;
}

// The elements of a warp's rows of which some are no ordinary ones, but for labels' that are computed apart.
template <class Element>
__device__ __noinline__ void write_careful_rows(PlainRow own, Divisor per_row, int pieces, bool nan,
                                                const Vector<Element>* from, Vector<Element>* to) {
  constexpr int V = Vector<Element>::kCount;
#pragma unroll 1
  for (int begin = 0; begin < pieces; begin += kLanes) {
    const int piece = begin + static_cast<int>(threadIdx.x % kLanes);
    uint32_t column = static_cast<uint32_t>(piece);
    const int row = static_cast<int>(per_row.divide(column));
    const double scale = __shfl_sync(~0u, own.scale, row);
    const float scale_f = __shfl_sync(~0u, own.scale_f, row);
    const int label = __shfl_sync(~0u, own.label, row);
    if (piece >= pieces) continue;
    const Vector<Element> in = from[piece];
    Vector<Element> out;
    float x[V], result[V];
#pragma unroll
    for (int i = 0; i < V; ++i) x[i] = widen<float>(in.at[i]), result[i] = nan ? NAN : 0.0f;
    if (!nan && scale_f != 0)
      scaled_exps<Element>(x, scale_f, result, label_in_piece<Element>(label, column));
    else if (!nan && label >= 0)
      one_by_one(x, result, [&](int, float one, float) {
        return static_cast<float>(ExactPlain{scale}(Lane<double>{}, static_cast<double>(one)));
      });
    narrow_all(result, out.at);
    store_at_once(to + piece, out);
  }
}

template <class Element, int kPieces>
__global__ void __launch_bounds__(kRowThreads, row_blocks(kPieces))
    write_rows(const __grid_constant__ Gradient<Element> g, Divisor per_row, int rows_of_warp) {
  using Piece = Vector<Element>;
  constexpr int V = Piece::kCount;
  const int lane = static_cast<int>(threadIdx.x % kLanes), of_row = static_cast<int>(g.a.labels.classes / V);
  const int64_t first = (int64_t{blockIdx.x} * kRowThreads + threadIdx.x) / kLanes * rows_of_warp;
  const int64_t left = g.a.labels.rows - first;
  const int rows = static_cast<int>(left < 0 ? 0 : left < rows_of_warp ? left : rows_of_warp);
  const int pieces = rows * of_row;
  const Piece* const from = reinterpret_cast<const Piece*>(g.log_prob) + first * of_row;
  Piece* const to = reinterpret_cast<Piece*>(g.out) + first * of_row;

  uint4 in[kPieces];  // as words: the compiler takes elements apart as soon as it has them, and waits for that
#pragma unroll
  for (int u = 0; u < kPieces; ++u)
    if (lane + u * kLanes < pieces) in[u] = *reinterpret_cast<const uint4*>(from + lane + u * kLanes);
  int64_t target = kNoClass;
  Element gradient{};
  if (lane < rows) {
    target = g.labels.target_of(first + lane);
    gradient = g.gradient[(first + lane) * g.a.gradient_stride];
  }

  __shared__ double few[2];
  double share = 1;  // of a row; infinite where the weights add up to 0
  if (g.adds_rows) {
    sum_few_rows(g.labels, few);
    __syncthreads();
    share = 1 / few[0];
  } else if (g.a.reduction == CrossEntropyReduction::kMean) {
    wait_for_kernel_before();
    share = g.scratch->numbers[kShare];
  }
  const PlainRow own = plain_row(g, gradient, target, share);
  const int64_t label = (first + lane) * g.a.labels.classes + own.label;
  // In double: of FLOAT, and of rows that are no ordinary ones.
  const bool label_apart = own.label >= 0 && (!kHalves<Element> || own.scale_f == 0);
  Element at_label;
  if (label_apart) at_label = g.log_prob[label];
  __syncwarp();  // before anything is written: out may be in the place of logProb
  const bool nan = std::isinf(share);
  if (__any_sync(~0u, nan || (own.label >= 0 && own.scale_f == 0))) {
    write_careful_rows(own, per_row, pieces, nan, from, to);
    if (nan) return;
  } else {
#pragma unroll
    for (int u = 0; u < kPieces; ++u) {
      const int piece = lane + u * kLanes;
      uint32_t column = static_cast<uint32_t>(piece);
      const int row = static_cast<int>(per_row.divide(column));
      const float scale = __shfl_sync(~0u, own.scale_f, row);
      const int label_of_row = kHalves<Element> ? __shfl_sync(~0u, own.label, row) : -1;
      if (piece >= pieces) continue;
      const Piece now = std::bit_cast<Piece>(in[u]);
      float x[V], result[V] = {};
      Piece computed;
#pragma unroll
      for (int i = 0; i < V; ++i) x[i] = widen<float>(now.at[i]);
      if (scale != 0) scaled_exps<Element>(x, scale, result, label_in_piece<Element>(label_of_row, column));
      narrow_all(result, computed.at);
      store_at_once(to + piece, computed);
    }
  }
  if (label_apart) at_label = label_element(at_label, own.scale);
  __syncwarp();  // the row's elements are written
  if (label_apart) g.out[label] = at_label;
}

template <class Element> Status write_plain_rows(const Gradient<Element>& g, const CudaLaunch& on) {
  const int64_t of_row = g.a.labels.classes / Vector<Element>::kCount;
  const auto run = [&]<int kPieces> {
    const int64_t rows_of_warp = std::min<int64_t>(kPieces * kLanes / of_row, kLanes);
    const int64_t warps = ceil_divide(g.a.labels.rows, rows_of_warp), blocks = ceil_divide(warps * kLanes, kRowThreads);
    return start_behind_sums(g, on, write_rows<Element, kPieces>, blocks, kRowThreads, Divisor(of_row),
                             static_cast<int>(rows_of_warp));
  };
  return of_row <= kFewPieces<Element> * kLanes ? run.template operator()<kFewPieces<Element>>()
                                                : run.template operator()<kManyPieces<Element>>();
}

}  // namespace
}  // namespace descend::cuda
