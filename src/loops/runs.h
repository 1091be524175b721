// SPDX-License-Identifier: MIT
// Points of an Iteration by number, for loops whose order matters: the runs along the innermost dimension that they
// consist of, and class indices read along them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/tensor/iteration.h"

namespace descend {

// Calls body(element, step, count) for each run of operand k that points [first, first + n) consist of: `count` points,
// `step` elements apart, from `element` elements after the operand's first.
template <int N, class Body>
void for_each_run(const Iteration<N>& points, int k, int64_t first, int64_t n, const Body& body) {
  if (points.rank == 0) return body(int64_t{0}, int64_t{1}, n);
  const int last = points.rank - 1;
  const int64_t inner = points.extent[last], step = points.stride[k][last];
  while (n > 0) {
    int64_t rest = first / inner;
    const int64_t column = first % inner, count = std::min(inner - column, n);
    int64_t element = column * step;
    for (int i = last - 1; i >= 0; rest /= points.extent[i], --i)
      element += rest % points.extent[i] * points.stride[k][i];
    body(element, step, count);
    first += count, n -= count;
  }
}

// Calls body(element, count) for each run of the points [first, first + n), of all operands at once: `count` points
// whose steps are the strides of the innermost dimension, operand k's from element[k] elements after its first.
template <int N, class Body> void for_each_row(const Iteration<N>& points, int64_t first, int64_t n, const Body& body) {
  int64_t element[N] = {};
  if (points.rank == 0) return body(element, n);
  const int last = points.rank - 1;
  while (n > 0) {
    int64_t rest = first, count = n;
    for (int i = last; i >= 0; --i) {
      const int64_t at = i == 0 ? rest : rest % points.extent[i];
      if (i == last) count = std::min(n, points.extent[i] - at);
      for (int k = 0; k < N; ++k) element[k] = (i == last ? 0 : element[k]) + at * points.stride[k][i];
      if (i != 0) rest /= points.extent[i];
    }
    body(element, count);
    first += count, n -= count;
  }
}
namespace detail {
template <class Element> void load_indices(const void* from, int64_t step, int64_t n, int64_t* to) {
  const auto* at = static_cast<const Element*>(from);
  if (step == 1) {  // neighbours are converted several at a time
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int64_t>(at[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int64_t>(at[i * step]);
}
}  // namespace detail

// The dtypes that class indices come in.
using IndexTypes = Dtypes<int64_t, int32_t, uint8_t>;

// Points [first, first + n) of operand k, of one of the IndexTypes, as int64.
template <int N>
void load_indices(const Iteration<N>& points, int k, const void* data, int64_t first, int64_t n, int64_t* to) {
  visit(IndexTypes{}, points.dtype[k], [&]<class Element> {
    for_each_run(points, k, first, n, [&](int64_t element, int64_t step, int64_t count) {
      detail::load_indices<Element>(static_cast<const Element*>(data) + element, step, count, to);
      to += count;
    });
  });
}

}  // namespace descend
