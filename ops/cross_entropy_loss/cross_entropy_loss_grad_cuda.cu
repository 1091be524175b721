// SPDX-License-Identifier: MIT
// The gradient of the cross entropy on NVIDIA GPUs: one pass over logProb and out.
//
// Rows that follow on each other, without smoothing and z-loss: cross_entropy_loss_grad_rows_cuda.cuh.  Of others a
// block has some rows and some of their columns: many short rows or a part of a long one.  First a thread a row
// computes what its elements are made of, the label's element among it; then all threads go over the elements.  Those
// that are no whole pieces, but follow on each other: cross_entropy_loss_grad_flat_cuda.cuh.
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_flat_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_rows_cuda.cuh"

namespace descend::cuda {
namespace {

// How the elements of a block lie: in one row, in rows without a gap between them, or anyhow.
enum class Layout { kOneRow, kClose, kAnyhow };

// V columns at a time.
template <class Element, int V, bool smoothing, Layout layout>
__global__ void __launch_bounds__(kThreads, 4)
    write_gradient(const __grid_constant__ Gradient<Element> g, Divisor per_row) {
  using Piece = Columns<Element, V>;
  constexpr unsigned kUnroll = V == 8 ? 3 : 4;  // as many as there are registers for
  __shared__ Row<Element> row_of[kMostRows];
  __shared__ double few[2];
  int64_t part = blockIdx.x;
  const int64_t first_row = g.parts.divide(part) * g.rows_per_block;
  const int64_t first = part * g.columns_per_block;
  const int64_t left = g.a.labels.rows - first_row, across = g.a.labels.classes - first;
  const unsigned rows = static_cast<unsigned>(left < g.rows_per_block ? left : g.rows_per_block);
  const unsigned columns = static_cast<unsigned>(across < g.columns_per_block ? across : g.columns_per_block);
  const Element* const from = g.log_prob + first_row * g.a.log_prob.row + first * g.a.log_prob.column;
  Element* const to = g.out + first_row * g.a.out.row + first * g.a.out.column;
  const double* const totals = g.totals(few);
  if (threadIdx.x < rows) row_of[threadIdx.x] = g.row_of(first_row + threadIdx.x, first, first + columns, totals);
  __syncthreads();
  constexpr bool close = layout != Layout::kAnyhow;
  const Row<Element> only = row_of[0];  // if there is one
  // Those behind the last column are skipped; there is none where pieces are close.
  const unsigned pieces = rows * ((close ? columns : static_cast<unsigned>(g.columns_per_block)) / V);
  for (unsigned begin = threadIdx.x; begin < pieces; begin += kUnroll * kThreads) {
    Piece in[kUnroll];
    unsigned row[kUnroll], column[kUnroll];
    bool there[kUnroll];
    const auto place = [&](unsigned u, unsigned r, unsigned c, const CrossEntropyMatrixStrides& s) {
      return close ? int64_t{begin + u * kThreads} * V : r * s.row + c * s.column;
    };
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      column[u] = begin + u * kThreads;
      there[u] = column[u] < pieces;
      row[u] = layout == Layout::kOneRow ? 0 : per_row.divide(column[u]);
      column[u] *= V;
      there[u] = there[u] && (close || column[u] < columns);
      if (there[u] && (layout == Layout::kOneRow ? only.kind : row_of[row[u]].kind) >= kOrdinary)
        in[u] = *reinterpret_cast<const Piece*>(from + place(u, row[u], column[u], g.a.log_prob));
    }
#pragma unroll
    for (unsigned u = 0; u < kUnroll; ++u) {
      if (!there[u]) continue;
      const RowKind kind = layout == Layout::kOneRow ? only.kind : row_of[row[u]].kind;
      const float scale = layout == Layout::kOneRow ? only.scale_f : row_of[row[u]].scale_f;
      Piece out;
      float x[V], result[V];
      widen_all(in[u], x);
#pragma unroll
      for (float& each : result) each = kind == kNaN ? NAN : 0.0f;
      if (kind == kOrdinary) {
        scaled_exps<std::conditional_t<smoothing, float, Element>>(x, scale, result);
        if constexpr (smoothing) {
          const Smooth less{scale, row_of[row[u]].smooth_f};
          const Lane<float> d;
#pragma unroll
          for (int i = 0; i < V; ++i)
            result[i] =
                g.labels.weight ? less(d, result[i], g.labels.weight_of(first + column[u] + i)) : less(d, result[i]);
        }
      } else if (kind == kCareful) {
        one_by_one(x, result,
                   [&](int i, float one, float) { return g.careful(one, row_of[row[u]], first + column[u] + i); });
      }
      narrow_all(result, out.at);
      Element* const at = to + place(u, row[u], column[u], g.a.out);
      if constexpr (V > 1)
        store_at_once(at, out);
      else
        *at = out.at[0];
    }
  }
  __syncthreads();
  if (threadIdx.x < rows && row_of[threadIdx.x].label >= 0)
    to[threadIdx.x * g.a.out.row + row_of[threadIdx.x].label * g.a.out.column] = row_of[threadIdx.x].label_element;
}

template <class Element, int V>
Status write_with(Gradient<Element> g, int64_t rows, int64_t columns, const CudaLaunch& on) {
  const int64_t parts = ceil_divide(g.a.labels.classes, columns);
  g.rows_per_block = static_cast<int>(rows);
  g.columns_per_block = static_cast<int>(ceil_divide(ceil_divide(g.a.labels.classes, parts), V) * V);
  g.parts = Divisor(parts);
  const auto follow = [&](const CrossEntropyMatrixStrides& s) { return s.row == g.a.labels.classes; };
  const auto pick = [&]<bool smoothing> {
    if constexpr (V > 1) {
      if (rows == 1) return write_gradient<Element, V, smoothing, Layout::kOneRow>;
      if (follow(g.a.log_prob) && follow(g.a.out)) return write_gradient<Element, V, smoothing, Layout::kClose>;
    }
    return write_gradient<Element, V, smoothing, Layout::kAnyhow>;
  };
  const auto kernel = g.a.smoothing == 0 ? pick.template operator()<false>() : pick.template operator()<true>();
  return start_behind_sums(g, on, kernel, ceil_divide(g.a.labels.rows, rows) * parts, kThreads,
                           Divisor(g.columns_per_block / V));
}

template <class Element> Status run(const CrossEntropyLossGradArgs& a, void* const* data, const CudaLaunch& on) {
  constexpr int V = 16 / sizeof(Element);
  constexpr int64_t kElements = sizeof(Element) == 4 ? 8192 : 32768;  // of a block
  const auto at = [&](int k) { return static_cast<Element*>(data[k]); };
  const bool mean = a.reduction == CrossEntropyReduction::kMean, few = a.labels.rows <= kFewRows;
  const Gradient<Element> g{.a = a,
                            .labels = {a.labels, data[0], static_cast<const float*>(data[1])},
                            .gradient = at(2),
                            .log_prob = at(3),
                            .zloss_gradient = at(5),
                            .lse = at(6),
                            .out = at(4),
                            .scratch = on.scratch,
                            .adds_rows = mean && few};
  const bool plain = are_plain_rows<Element>(a, data);
  if (Status s = sum_labels(g.labels, mean && !few, a.smoothing != 0, plain, on); !s.ok()) return s;
  const int64_t classes = a.labels.classes;
  const auto in_pieces = [&](const CrossEntropyMatrixStrides& s, const void* address) {
    return s.column == 1 && s.row % V == 0 && is_aligned(address);
  };
  const auto rows_of = [&](int64_t elements) { return std::clamp<int64_t>(elements / classes, 1, kMostRows); };
  if (plain) return write_plain_rows(g, on);
  if (classes % V == 0 && in_pieces(a.log_prob, data[3]) && in_pieces(a.out, data[4]))
    return write_with<Element, V>(g, rows_of(kElements), kElements, on);
  if (is_flat<Element>(a, data)) return run_flat(g, kElements, on);
  // Where a side runs across, blocks are about square: what a thread leaves of a line its neighbours find in the cache.
  const bool across = (a.log_prob.column != 1 && a.log_prob.row == 1) || (a.out.column != 1 && a.out.row == 1);
  return across ? write_with<Element, 1>(g, 64, 64, on) : write_with<Element, 1>(g, rows_of(2048), 2048, on);
}

Status cross_entropy_loss_grad(const CrossEntropyLossGradArgs& a, void* const* data, Launch& launch) {
  const CudaLaunch on = cuda_launch(launch);
  Status status;
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype, [&]<class Element> { status = run<Element>(a, data, on); });
  return status;
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kCrossEntropyLossGrad, cross_entropy_loss_grad);

}  // namespace
}  // namespace descend::cuda
