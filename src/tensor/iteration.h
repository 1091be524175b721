// SPDX-License-Identifier: MIT
// The points an elementwise kernel visits: the output's shape with dimensions dropped, reordered and merged until no
// simpler loop nest visits the same elements.
#pragma once
#include <array>
#include <cstdint>

#include "src/base/dtype.h"
#include "src/tensor/tensor.h"

namespace descend {

// Plain data: phase one copies it into the plan, a CUDA kernel takes it by value.  Operand 0 is the output.
// Where the operands begin is not in here: a kernel gets each view's first element as data[k].
template <int N> struct Iteration {
  int rank = 0;                      // dimensions left, the innermost last; 0: a single point
  int64_t extent[kMaxRank] = {};     // never 1; a 0 only as the one dimension of an empty iteration
  int64_t stride[N][kMaxRank] = {};  // in elements; 0 where the operand is broadcast, negative where it runs back
  DataType dtype[N] = {};

  int64_t points() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }
  // Whether operand k holds the points one after the other, in the order of iteration.
  bool contiguous(int k) const { return rank == 0 || (rank == 1 && stride[k][0] == 1); }
};

namespace detail {

// Whether all are row-major and of one shape.  The strides of dimensions of size 1 say nothing and are not looked at.
template <int N> bool is_one_line(const std::array<const aclTensor*, N>& tensors) {
  const size_t rank = tensors[0]->shape.size();
  const int64_t* shape[N];
  const int64_t* strides[N];
  for (int k = 0; k < N; ++k) {
    if (tensors[k]->shape.size() != rank) return false;
    shape[k] = tensors[k]->shape.begin();
    strides[k] = tensors[k]->strides.begin();
  }
  int64_t step = 1;
  for (size_t i = rank; i-- > 0; step *= shape[0][i])
    for (int k = 0; k < N; ++k)
      if (shape[k][i] != shape[0][i] || (strides[k][i] != step && shape[0][i] != 1)) return false;
  return true;
}

inline uint64_t magnitude(int64_t x) { return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); }

// Whether dimension a of the operands lies outside dimension b: the output's strides decide, then the others' in turn.
template <int N> bool lies_outside(const Iteration<N>& full, int a, int b) {
  for (int k = 0; k < N; ++k) {
    const uint64_t x = magnitude(full.stride[k][a]), y = magnitude(full.stride[k][b]);
    if (x != y) return x > y;
  }
  return false;
}

// The dimensions of `shape` that are not 1, outermost first, with the strides of the tensors, which broadcast to it.
template <int N> Iteration<N> dimensions_of(const Shape& shape, const std::array<const aclTensor*, N>& tensors) {
  const int rank = static_cast<int>(shape.size());
  Iteration<N> full;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 1) continue;
    const int at = full.rank++;
    full.extent[at] = shape[i];
    for (int k = 0; k < N; ++k) {
      const int own = i - rank + static_cast<int>(tensors[k]->shape.size());  // aligned at the last dimension
      full.stride[k][at] = own < 0 || tensors[k]->shape[own] == 1 ? 0 : tensors[k]->strides[own];
    }
  }
  for (int k = 0; k < N; ++k) full.dtype[k] = tensors[k]->dtype;
  return full;
}

// The dimensions in the order given, neighbours merged where no operand tells them apart.
template <int N> Iteration<N> merge(const Iteration<N>& full, const int* order) {
  Iteration<N> merged;
  for (int k = 0; k < N; ++k) merged.dtype[k] = full.dtype[k];
  for (int j = 0; j < full.rank; ++j) {
    const int i = order[j], top = merged.rank - 1;
    const uint64_t extent = static_cast<uint64_t>(full.extent[i]);
    bool joins = top >= 0;
    for (int k = 0; joins && k < N; ++k)
      joins = static_cast<uint64_t>(merged.stride[k][top]) == static_cast<uint64_t>(full.stride[k][i]) * extent;
    const int at = joins ? top : merged.rank++;
    merged.extent[at] = joins ? merged.extent[at] * full.extent[i] : full.extent[i];
    for (int k = 0; k < N; ++k) merged.stride[k][at] = full.stride[k][i];
  }
  return merged;
}

template <int N> Iteration<N> iterate_views(const std::array<const aclTensor*, N>& tensors) {
  const Iteration<N> full = dimensions_of<N>(tensors[0]->shape, tensors);
  int order[kMaxRank];  // by insertion: stable, and at most 8 dimensions
  for (int i = 0; i < full.rank; ++i) {
    int at = i;
    for (; at > 0 && lies_outside(full, i, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = i;
  }
  return merge(full, order);
}

}  // namespace detail

// The points of `tensors[0]`, the output, whose shape the others broadcast to (aligned at the last dimension).
// The caller has checked that they do, that no rank is above kMaxRank and that the element count exists.
template <int N> Iteration<N> iterate(const std::array<const aclTensor*, N>& tensors) {
  const Shape& out = tensors[0]->shape;
  int64_t points = 1;
  for (int64_t extent : out) points *= extent;

  if (points != 0 && !detail::is_one_line<N>(tensors)) return detail::iterate_views<N>(tensors);

  Iteration<N> line;
  line.rank = points != 1;
  line.extent[0] = points != 1 ? points : 0;
  for (int k = 0; k < N; ++k) {
    line.stride[k][0] = points != 1;
    line.dtype[k] = tensors[k]->dtype;
  }
  return line;
}

// The points of `shape`, to which the tensors broadcast, in row-major order whatever the layouts: for reductions, whose
// result depends on the order.  There is no output among the tensors.
template <int N> Iteration<N> iterate_in_order(const Shape& shape, const std::array<const aclTensor*, N>& tensors) {
  const Iteration<N> full = detail::dimensions_of<N>(shape, tensors);
  Iteration<N> empty;
  empty.rank = 1;
  for (int k = 0; k < N; ++k) empty.dtype[k] = full.dtype[k];
  int order[kMaxRank];
  for (int i = 0; i < full.rank; ++i) {
    if (full.extent[i] == 0) return empty;
    order[i] = i;
  }
  return detail::merge(full, order);
}

}  // namespace descend
