// SPDX-License-Identifier: MIT
// Operands of one dtype that lie along the innermost dimension, in vectors of 16 bytes.
#pragma once
#include "src/loops/elements.cuh"
#include "src/loops/evaluate.cuh"
#include "src/loops/launch.cuh"

namespace descend::cuda {

// How many vectors a thread has in flight: enough bytes for the memory, few enough registers for many threads. Measured
// on an H200: with 2 for three operands of float the gradient of ELU from its result takes 780 us, with 4 742 us.
// Where as much is written as is read, fewer are better: ELU of float takes 518 us with 4, 512, 509 and 503 us with 3,
// 2 and 1.
// Functions with a quick form compute long, and more bytes must be on their way meanwhile: with 1 for operands of two
// bytes the gradient of ELU from its input takes 402 us, with 2 and kBlocksOf 375 us, and ELU 261 and 256 us.
template <class Element, int N, class F>
inline constexpr int kVectorsOf = sizeof(Element) == 2 ? (N == 2 || HasQuick<F> ? 2 : 1)
                                  : N == 2             ? 1
                                  : N == 3             ? 4
                                                       : 2;
// ELU of float16 takes 264 us with blocks of 256 threads, 256 us with these.
inline constexpr int kRowThreads = 128;
template <class Element, class F>
inline constexpr int kBlocksOf = sizeof(Element) == 2 && HasQuick<F> ? 8 : 0;  // of a multiprocessor; 0: as it comes

template <int N> struct Rows {
  void* data[N];
  int64_t advance[N];  // along the innermost dimension: 1, or 0 for an input that is constant there
  Places<N> outer;     // the other dimensions
  Divisor per_row;     // vectors; of long rows blocks
  int64_t vectors;
  int64_t width;  // of a row, in vectors
  int64_t rest;   // elements behind the last vector of a single row

  bool is_line() const {
    return outer.rank == 0 && std::all_of(advance, advance + N, [](int64_t a) { return a == 1; });
  }
};

// To find each vector's row is a third of all instructions for operands of two bytes, where that is needed.
enum class RowsKind {
  kLine,  // a single row that every operand lies along
  kLong,  // rows at least as long as what a block does at once: a block has a part of one
  kAny,
};
template <class T, class Element, int N, RowsKind kind, class F>
__global__ void __launch_bounds__(kRowThreads, kBlocksOf<Element, F>)
    run_rows(const __grid_constant__ Rows<N> rows, F given) {
  using V = Vector<Element>;
  const auto f = prepared(given);
  constexpr bool line = kind == RowsKind::kLine, is_long = kind == RowsKind::kLong;
  constexpr int kUnroll = kVectorsOf<Element, N, F>;
  uint4 in[kUnroll][N - 1];  // as words: elements are taken apart as soon as they are there, which waits for each
  int64_t offset[kUnroll][N], start_of_row[N] = {};
  int64_t first = static_cast<int64_t>(blockIdx.x) * (kUnroll * kRowThreads) + threadIdx.x;
  if constexpr (is_long) {
    uint32_t part = blockIdx.x;
    rows.outer.add(rows.per_row.divide(part), start_of_row);
    first = static_cast<int64_t>(part) * (kUnroll * kRowThreads) + threadIdx.x;
  }
  const int64_t end = is_long ? rows.width : rows.vectors;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t number = first + u * kRowThreads;
    if (number >= end) break;
    int64_t column = number, row = 0;
    if (kind == RowsKind::kAny && rows.outer.rank > 0) row = rows.per_row.divide(column);
#pragma unroll
    for (int k = 0; k < N; ++k)
      offset[u][k] = start_of_row[k] + (line || rows.advance[k] != 0 ? column * V::kCount : 0);
    if (kind == RowsKind::kAny && rows.outer.rank > 0) rows.outer.add(row, offset[u]);
#pragma unroll
    for (int k = 1; k < N; ++k) {
      const Element* const at = static_cast<const Element*>(rows.data[k]) + offset[u][k];
      if (line || rows.advance[k] != 0) {
        in[u][k - 1] = *reinterpret_cast<const uint4*>(at);
      } else {
        V repeated;
        const Element one = *at;
#pragma unroll
        for (Element& each : repeated.at) each = one;
        in[u][k - 1] = std::bit_cast<uint4>(repeated);
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (first + u * kRowThreads >= end) break;
    V run[N - 1], out;
#pragma unroll
    for (int k = 0; k < N - 1; ++k) run[k] = std::bit_cast<V>(in[u][k]);
    T result[V::kCount];
    evaluate<T, N - 1>(
        f, [&](int k, int i) { return widen<T>(run[k].at[i]); }, result);
    narrow_all(result, out.at);
    store_at_once(static_cast<Element*>(rows.data[0]) + offset[u][0], out);
  }
  if (!is_long && blockIdx.x == 0 && threadIdx.x < rows.rest) {
    const int64_t i = rows.vectors * V::kCount + threadIdx.x;
    T result[1];
    evaluate<T, N - 1>(
        f, [&](int k, int) { return widen<T>(static_cast<const Element*>(rows.data[k + 1])[i * rows.advance[k + 1]]); },
        result);
    static_cast<Element*>(rows.data[0])[i] = narrow<Element>(result[0]);
  }
}

// Whether run_rows can do it: `rows` then says how.
template <class Element, int N> bool as_rows(const Iteration<N>& points, void* const* data, Rows<N>& rows) {
  constexpr int64_t count = Vector<Element>::kCount;
  const int last = points.rank - 1;
  const int64_t width = points.rank == 0 ? 1 : points.extent[last];
  if (points.rank > 1 && width % count != 0) return false;
  for (int k = 0; k < N; ++k) {
    rows.data[k] = data[k];
    rows.advance[k] = points.rank == 0 ? 1 : points.stride[k][last];
    if (rows.advance[k] != 1 && (k == 0 || rows.advance[k] != 0)) return false;
    if (rows.advance[k] == 0) continue;
    if (!is_aligned(data[k])) return false;
    for (int i = 0; i < last; ++i)
      if (points.stride[k][i] % count != 0) return false;
  }
  rows.outer = Places<N>(points, std::max(last, 0));
  rows.width = std::max<int64_t>(width / count, 1);
  rows.per_row = Divisor(rows.width);
  rows.vectors = points.points() / count;
  rows.rest = points.rank > 1 ? 0 : width % count;
  return true;
}

}  // namespace descend::cuda
