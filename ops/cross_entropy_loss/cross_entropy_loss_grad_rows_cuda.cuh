// SPDX-License-Identifier: MIT
// The gradient of rows that follow on each other, without smoothing and z-loss.
//
// A warp has some pieces, asks at once for all their elements, and knows the rows that they are of.  What is done once
// for each row counts: a lane a row computes its scale, and in the end the label's element; where warps have whole rows
// of halves, that of an ordinary row whoever has its piece computes.  There are as many warps as pieces need, in small
// blocks, of which none waits long for its last warp.  Warps that go from rows to rows, and ask for the next early,
// were slower, since the card's memory likes to be read and written from its beginning to its end; so were threads of
// which each finds its row's scale itself.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_spans_cuda.cuh"

namespace descend::cuda {
namespace {

// Whether rows follow on each other, and begin at the same place in a piece, in both matrices.
template <class Element> bool are_plain_rows(const CrossEntropyLossGradArgs& a, void* const* data) {
  const int64_t classes = a.labels.classes;
  const auto follow = [&](const CrossEntropyMatrixStrides& s) { return s.column == 1 && s.row == classes; };
  const auto shift = [&](int k) { return shift_of(static_cast<const Element*>(data[k])); };
  return a.is_plain() && classes >= 4 * Vector<Element>::kCount && classes <= INT32_MAX / 2 && follow(a.log_prob) &&
         follow(a.out) && shift(3) == shift(4);
}

// What a row's elements are made of, in the registers of its lane.
constexpr uint32_t kNowhere = INT32_MAX;
struct PlainRow {
  double scale = 0;           // 0, too, where the row does not count
  uint32_t label = kNowhere;  // there: it does not count, and its elements are 0
  float scale_f = is_ordinary(scale) ? static_cast<float>(scale) : 0;
};
// As Gradient::row_of() has it where there is neither smoothing nor z-loss.
template <class Element>
__device__ __forceinline__ PlainRow plain_row(const Gradient<Element>& g, Element gradient, int64_t target,
                                              double share) {
  const int64_t label = g.labels.class_of(target);
  if (label == kNoClass) return {};
  return {.scale = widen<double>(gradient) * share * double{g.labels.weight_of(label)} + 0.0,  // never -0
          .label = static_cast<uint32_t>(label)};
}
template <bool of_ordinary, class Element>
__device__ __forceinline__ Element label_element(Element log_prob, const PlainRow& row) {
  if (of_ordinary && kHalves<Element> && row.scale_f != 0) {
    float element[1];
    scaled_exps<Element>({widen<float>(log_prob)}, row.scale_f, element, 1);
    return narrow<Element>(element[0]);
  }
  const Lane<double> d;
  const double x = widen<double>(log_prob);
  double element = LabelElement{}(d, x, row.scale);
  if (std::isinf(row.scale)) element = LabelElement{}(d, x, row.scale, 0.0);
  return narrow<Element>(element);
}

// The elements of a warp's rows, one by one: where some rows are no ordinary ones, or some elements of a piece are not
// there.
template <class Element, Has has>
__device__ __noinline__ void write_carefully(PlainRow own, Span<Element, has> span, Divisor by_classes, bool nan,
                                             const Element* from, Element* to) {
  constexpr int V = Vector<Element>::kCount;
#pragma unroll 1
  for (int begin = 0; begin < span.end; begin += kLanes * V) {
    const int at = begin + static_cast<int>(threadIdx.x % kLanes) * V;
    const RowsOfPiece<Element, span.kCross> rows(span, by_classes, at);
    const double scale = __shfl_sync(~0u, own.scale, rows.one),
                 scale_of_other = __shfl_sync(~0u, own.scale, rows.other);
    const uint32_t label = __shfl_sync(~0u, own.label, rows.one), of_other = __shfl_sync(~0u, own.label, rows.other);
#pragma unroll 1
    for (int i = 0; i < V; ++i) {
      if (at + i < span.begin || at + i >= span.end) continue;
      const bool is_other = i >= static_cast<int>(rows.until);
      const PlainRow row{.scale = is_other ? scale_of_other : scale, .label = is_other ? of_other : label};
      const float x = widen<float>(from[at + i]);
      const uint32_t place = is_other ? i - rows.until : i + rows.column;
      float result[1] = {nan ? NAN : 0.0f};
      if (!nan && row.scale_f != 0)  // FLOAT's label is computed apart
        scaled_exps<Element>({x}, row.scale_f, result, kHalves<Element> && row.label == place ? 1 : 0);
      else if (!nan && row.label != kNowhere)
        result[0] = static_cast<float>(ExactPlain{row.scale}(Lane<double>{}, static_cast<double>(x)));
      to[at + i] = narrow<Element>(result[0]);
    }
  }
}

template <class Element, Has has>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks<Element, has>)
    write_rows(const __grid_constant__ Gradient<Element> g, Divisor by_classes, Share share_of_warp) {
  using Piece = Vector<Element>;
  constexpr int V = Piece::kCount;
  constexpr bool kCross = has == Has::kElements;
  constexpr bool kLabelsApart = has != Has::kRows || !kHalves<Element>;  // FLOAT's in double
  Span<Element, has> span(g.a.labels, share_of_warp);
  const Element* const from = g.log_prob + span.first;
  Element* const to = g.out + span.first;
  uint4 in[span.kOfLane];  // as words: the compiler takes elements apart as soon as it has them, and waits for that
  span.load(g.log_prob, in);
  span.find_rows(by_classes, share_of_warp);
  Element gradient{};
  if (span.has_row()) gradient = g.gradient[span.row * g.a.gradient_stride];

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
  // Not before the targets are counted: what is loaded to stay after it is loaded for the last time would stay for
  // long.
  const int64_t target = span.has_row() ? g.labels.last_target_of(span.row) : kNoClass;
  const PlainRow own = plain_row(g, gradient, target, share);
  const bool counts = own.label != kNowhere, ordinary = own.scale_f != 0;
  const int64_t label = span.begins + own.label;
  const bool label_apart = counts && (kLabelsApart || !ordinary) && label >= span.begin && label < span.end;
  Element at_label;
  if (label_apart) at_label = from[label];
  __syncwarp();  // before anything is written: out may be in the place of logProb
  const bool nan = std::isinf(share);
  if (span.has_parts || __any_sync(~0u, nan || (counts && !ordinary))) {
    write_carefully(own, span, by_classes, nan, from, to);
    if (nan) return;
  } else {
#pragma unroll
    for (int u = 0; u < span.kOfLane; ++u) {
      const int at = span.place_of(u);
      const RowsOfPiece<Element, kCross> rows(span, by_classes, at);
      const float one = __shfl_sync(~0u, own.scale_f, rows.one);
      const float other = kCross ? __shfl_sync(~0u, own.scale_f, rows.other) : one;
      uint32_t labels = 0;
      if constexpr (!kLabelsApart) labels = rows.label(own.label);
      if (at >= span.end) continue;
      const auto scale_of = [&](int i) { return kCross && i >= static_cast<int>(rows.until) ? other : one; };
      const Piece now = std::bit_cast<Piece>(in[u]);
      float x[V], result[V] = {};
      Piece computed;
      widen_all(now, x);
      if (one != 0 || other != 0) {
        scaled_exps<Element>(x, scale_of, result, labels);
        if (kCross && (one == 0 || other == 0)) {
#pragma unroll
          for (int i = 0; i < V; ++i)
            if (scale_of(i) == 0) result[i] = 0;
        }
      }
      narrow_all(result, computed.at);
      store_at_once(to + at, computed);
    }
  }
  if (label_apart) at_label = label_element<kLabelsApart>(at_label, own);
  __syncwarp();  // the row's elements are written
  if (label_apart) to[label] = at_label;
}

template <Has has, class Element> Status start_rows(const Gradient<Element>& g, const CudaLaunch& on) {
  constexpr int V = Vector<Element>::kCount;
  constexpr int64_t kMost = kPiecesOfLane<Element, has> * kLanes * V;
  const int64_t classes = g.a.labels.classes, rows = std::min<int64_t>(kMost / classes, kLanes);
  // What begins within a row may end within one: of as many rows as there are lanes in all.
  const int64_t elements = has == Has::kRows ? rows * classes : std::min(kMost, (kLanes - 1) * classes / V * V);
  const int shift = shift_of(g.log_prob);
  const int64_t warps = ceil_divide(g.a.labels.rows * classes + shift, elements);
  return start_behind_sums(g, on, write_rows<Element, has>, ceil_divide(warps * kLanes, kRowThreads), kRowThreads,
                           Divisor(classes), Share{static_cast<int>(elements), static_cast<int>(rows), shift});
}

template <class Element> Status write_plain_rows(const Gradient<Element>& g, const CudaLaunch& on) {
  constexpr int64_t kFewClasses = 512;  // a warp has room for a row
  const int64_t classes = g.a.labels.classes;
  if (classes % Vector<Element>::kCount != 0 || shift_of(g.log_prob) != 0) return start_rows<Has::kElements>(g, on);
  return classes <= kFewClasses ? start_rows<Has::kRows>(g, on) : start_rows<Has::kPieces>(g, on);
}

}  // namespace
}  // namespace descend::cuda
