// SPDX-License-Identifier: MIT
// The gradient of rows that follow on each other, with smoothing or z-loss, or of few classes: as
// cross_entropy_loss_grad_rows_cuda.cuh has it, but that more is known of a row, and its lane computes the label's
// element before anything is written.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_spans_cuda.cuh"

namespace descend::cuda {
namespace {

// An element off the label, of any row.
template <bool smoothing, class Element>
__device__ __noinline__ float element_of(const Gradient<Element>& g, const Row<Element>& row, float x, int64_t column) {
  if (row.kind == kCareful) return g.careful(x, row, column);
  if (row.kind != kOrdinary) return row.kind == kNaN ? NAN : 0.0f;
  const float one[1] = {x};
  float result[1];
  scaled_exps<std::conditional_t<smoothing, float, Element>>(one, row.scale_f, result);
  if constexpr (smoothing) {
    const Smooth less{row.scale_f, row.smooth_f};
    const Lane<float> d;
    result[0] = g.labels.weight ? less(d, result[0], g.labels.weight_of(column)) : less(d, result[0]);
  }
  return result[0];
}

// A lane's row, by all lanes that have its pieces.
template <class Element> __device__ __forceinline__ Row<Element> row_at(const Row<Element>& own, int lane) {
  Row<Element> r{.kind = static_cast<RowKind>(__shfl_sync(~0u, static_cast<int>(own.kind), lane))};
  r.scale_f = __shfl_sync(~0u, own.scale_f, lane);
  r.smooth_f = __shfl_sync(~0u, own.smooth_f, lane);
  r.scale = __shfl_sync(~0u, own.scale, lane);
  r.smooth = __shfl_sync(~0u, own.smooth, lane);
  return r;
}

// The elements of a warp's rows, one by one: where some rows are no ordinary ones, or some elements of a piece are not
// there.
template <bool smoothing, class Element, Has has>
__device__ __noinline__ void write_carefully(const Gradient<Element>& g, Row<Element> own, Span<Element, has> span,
                                             Divisor by_classes) {
  constexpr int V = Vector<Element>::kCount;
#pragma unroll 1
  for (int begin = 0; begin < span.end; begin += kLanes * V) {
    const int at = begin + span.place_of(0);
    const RowsOfPiece<Element, span.kCross> rows(span, by_classes, at);
    const Row<Element> one = row_at(own, rows.one), other = row_at(own, rows.other);
#pragma unroll 1
    for (int i = 0; i < V; ++i) {
      if (at + i < span.begin || at + i >= span.end) continue;
      const bool is_other = i >= static_cast<int>(rows.until);
      const int64_t column = is_other ? int64_t{i} - rows.until : int64_t{rows.column} + i, place = span.first + at + i;
      g.out[place] =
          narrow<Element>(element_of<smoothing>(g, is_other ? other : one, widen<float>(g.log_prob[place]), column));
    }
  }
}

template <class Element, Has has, bool smoothing>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    write_other_rows(const __grid_constant__ Gradient<Element> g, Divisor by_classes, Share share_of_warp) {
  using Piece = Vector<Element>;
  constexpr int V = Piece::kCount;
  constexpr bool kCross = has == Has::kElements;
  Span<Element, has> span(g.a.labels, share_of_warp);
  uint4 in[span.kOfLane];  // as words, for the reason that write_rows() has
  span.load(g.log_prob, in);
  span.find_rows(by_classes, share_of_warp);
  const int64_t first = span.begin > span.begins ? span.begin - span.begins : 0;  // the row's columns that are here
  ReadOfRow<Element> read;
  if (span.has_row()) read = g.read(span.row, first, span.end - span.begins);
  __shared__ double few[2];
  const double* const totals = g.totals(few);
  const Row<Element> own = g.row_of(span.row, read, first, totals);
  __syncwarp();  // before anything is written: out may be in the place of logProb
  if (span.has_parts || __any_sync(~0u, own.kind == kNaN || own.kind == kCareful)) {
    write_carefully<smoothing>(g, own, span, by_classes);
  } else {
#pragma unroll
    for (int u = 0; u < span.kOfLane; ++u) {
      const int at = span.place_of(u);
      const RowsOfPiece<Element, kCross> rows(span, by_classes, at);
      const auto of_rows = [&](float x) {
        const float one = __shfl_sync(~0u, x, rows.one), other = kCross ? __shfl_sync(~0u, x, rows.other) : one;
        return [=](int i) { return kCross && i >= static_cast<int>(rows.until) ? other : one; };
      };
      const auto scale_of = of_rows(own.scale_f), smooth_of = of_rows(smoothing ? own.smooth_f : 0);
      if (at >= span.end) continue;
      const Piece now = std::bit_cast<Piece>(in[u]);
      float x[V], result[V];
      Piece computed;
#pragma unroll
      for (int i = 0; i < V; ++i) x[i] = widen<float>(now.at[i]);
      scaled_exps<std::conditional_t<smoothing, float, Element>>(x, scale_of, result);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        if constexpr (smoothing) {
          const Smooth less{scale_of(i), smooth_of(i)};
          const Lane<float> d;
          const int64_t column = i < static_cast<int>(rows.until) ? int64_t{rows.column} + i : int64_t{i} - rows.until;
          result[i] = g.labels.weight ? less(d, result[i], g.labels.weight_of(column)) : less(d, result[i]);
        }
        if (scale_of(i) == 0) result[i] = 0;  // the row does not count
      }
      narrow_all(result, computed.at);
      store_at_once(g.out + span.first + at, computed);
    }
  }
  __syncwarp();  // the row's elements are written
  if (own.label >= 0) g.out[span.first + span.begins + first + own.label] = own.label_element;
}

template <class Element> Status write_other_rows(const Gradient<Element>& g, const CudaLaunch& on) {
  const auto run = [&]<Has has> {
    return start_spans<has>(
        g, on, g.a.smoothing == 0 ? write_other_rows<Element, has, false> : write_other_rows<Element, has, true>);
  };
  return g.a.labels.classes % Vector<Element>::kCount != 0 || shift_of(g.log_prob) != 0
             ? run.template operator()<Has::kElements>()
             : run.template operator()<Has::kPieces>();
}

}  // namespace
}  // namespace descend::cuda
