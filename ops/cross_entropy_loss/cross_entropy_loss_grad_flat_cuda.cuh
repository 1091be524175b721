// SPDX-License-Identifier: MIT
// The gradient of rows that follow on each other, with smoothing or z-loss, or of very few classes: pieces need not
// begin where a row does, nor end there.
//
// A block has some elements, of which the first begin a piece, and the rows that they are of.  A piece is of one row,
// or of two.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_cuda.cuh"

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

template <class Element, bool smoothing>
__global__ void __launch_bounds__(kThreads, 4)
    write_flat(const __grid_constant__ Gradient<Element> g, Divisor by_classes) {
  using Piece = Vector<Element>;
  constexpr unsigned V = Piece::kCount, kUnroll = V == 8 ? 2 : 4;  // as many as there are registers for
  __shared__ Row<Element> row_of[kMostRows];
  __shared__ double few[2];
  const int64_t begin = blockIdx.x * int64_t{g.columns_per_block}, left = g.a.labels.rows * g.a.labels.classes - begin;
  const unsigned elements = static_cast<unsigned>(left < g.columns_per_block ? left : g.columns_per_block);
  const unsigned classes = static_cast<unsigned>(g.a.labels.classes);
  int64_t start = begin;  // becomes the column of the first element
  const int64_t first_row = by_classes.divide(start);
  const unsigned in_row = static_cast<unsigned>(start);
  // The row of an element, counted from the first; `at` becomes its column.
  const auto divide = [&](unsigned& at) {
    at += in_row;
    return by_classes.divide(at);
  };
  unsigned last = elements - 1;
  const unsigned rows = divide(last) + 1, mine = threadIdx.x;
  const double* const totals = g.totals(few);
  if (mine < rows)
    row_of[mine] = g.row_of(first_row + mine, mine == 0 ? in_row : 0, mine + 1 == rows ? last + 1 : classes, totals);
  __syncthreads();
  const Element* const from = g.log_prob + begin;
  Element* const to = g.out + begin;
  const unsigned pieces = (elements - 1) / V + 1;
  for (unsigned first = threadIdx.x; first < pieces; first += kUnroll * kThreads) {
    Piece in[kUnroll];
    unsigned row[kUnroll], column[kUnroll];
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      const unsigned at = column[u] = (first + u * kThreads) * V;
      row[u] = divide(column[u]);
      if (at + V > elements) continue;
      if (column[u] + V > classes || row_of[row[u]].kind >= kOrdinary) in[u] = load_at_once<Piece>(from + at);
    }
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      const unsigned at = (first + u * kThreads) * V;
      if (at >= elements) continue;
      const unsigned there = elements - at < V ? elements - at : V;  // all but at the end
      if (there < V) {
#pragma unroll
        for (unsigned i = 0; i < V; ++i) in[u].at[i] = from[at + (i < there ? i : 0)];
      }
      // Elements before number `until` are of the row, the others of the next.
      const int until = static_cast<int>(classes - column[u]);
      const Row<Element>&one = row_of[row[u]], &other = row_of[row[u] + (until < static_cast<int>(there) ? 1 : 0)];
      const auto column_of = [&](int i) { return i < until ? int64_t{column[u]} + i : int64_t{i} - until; };
      float x[V], result[V];
      widen_all(in[u], x);
#pragma unroll
      for (float& each : result) each = NAN;
      if (one.kind == kCareful || other.kind == kCareful) {
        one_by_one(x, result, [&](int i, float each, float) {
          return element_of<smoothing>(g, i < until ? one : other, each, column_of(i));
        });
      } else if (one.kind != kNaN) {
        const float scale_of_one = one.scale_f, scale_of_other = other.scale_f;  // 0 where the row is
        const auto scale_of = [=](int i) { return i < until ? scale_of_one : scale_of_other; };
        scaled_exps<std::conditional_t<smoothing, float, Element>>(x, scale_of, result);
#pragma unroll
        for (int i = 0; i < static_cast<int>(V); ++i) {
          if constexpr (smoothing) {
            const Smooth less{scale_of(i), i < until ? one.smooth_f : other.smooth_f};
            const Lane<float> d;
            result[i] = g.labels.weight ? less(d, result[i], g.labels.weight_of(column_of(i))) : less(d, result[i]);
          }
          if (scale_of(i) == 0) result[i] = 0;
        }
      }
      Piece out;
      narrow_all(result, out.at);
      if (there == V) {
        store_at_once(to + at, out);
      } else {
#pragma unroll
        for (unsigned i = 0; i < V; ++i)
          if (i < there) to[at + i] = out.at[i];
      }
    }
  }
  __syncthreads();
  if (mine < rows && row_of[mine].label >= 0)
    to[(mine == 0 ? 0 : int64_t{mine} * classes - in_row) + row_of[mine].label] = row_of[mine].label_element;
}

// Whether write_flat() does it.
template <class Element> bool is_flat(const CrossEntropyLossGradArgs& a, void* const* data) {
  const int64_t classes = a.labels.classes;
  const auto follow = [&](const CrossEntropyMatrixStrides& s, const void* address) {
    return s.column == 1 && s.row == classes && is_aligned(address);
  };
  return classes >= Vector<Element>::kCount && classes <= INT32_MAX / 2 && follow(a.log_prob, data[3]) &&
         follow(a.out, data[4]);
}
template <class Element> Status run_flat(Gradient<Element> g, int64_t elements, const CudaLaunch& on) {
  constexpr int64_t V = Vector<Element>::kCount;
  const int64_t classes = g.a.labels.classes, most = (kMostRows - 1) * classes;  // one more row than a block has whole
  g.columns_per_block = static_cast<int>(std::min(elements, most) / V * V);
  const auto kernel = g.a.smoothing == 0 ? write_flat<Element, false> : write_flat<Element, true>;
  return start_behind_sums(g, on, kernel, ceil_divide(g.a.labels.rows * classes, g.columns_per_block), kThreads,
                           Divisor(classes));
}

}  // namespace
}  // namespace descend::cuda
