// SPDX-License-Identifier: MIT
// Cutting an Iteration into boxes that fit in the first-level cache, and moving the elements of one operand in a box to
// and from a contiguous buffer.  No arithmetic: nothing here depends on the SIMD target.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/tensor/iteration.h"

namespace descend {

inline constexpr int64_t kTile = 512;          // points of a box: 2 KiB of float an operand
inline constexpr int64_t kChunk = 64 * kTile;  // points a thread takes at a time
inline constexpr int64_t kCacheLine = 64;      // bytes

// One dimension of a box for one operand: where its elements are, and where they go in the buffer.
struct Axis {
  int64_t extent;
  int64_t stride;    // in elements of the operand
  int64_t position;  // in elements of the buffer
};

struct Axes {
  int count = 0;
  Axis axis[kMaxRank];

  // The box is one run of neighbours, in the order of the buffer.
  bool contiguous() const { return count == 0 || (count == 1 && axis[0].stride == 1); }
  // Every point of the box is the same element.
  bool constant() const { return count == 0 || (count == 1 && axis[0].stride == 0); }
};

// The boxes of an iteration: all of the size `edge`, but for the last ones of each dimension.
struct Boxes {
  int rank = 0;
  int64_t edge[kMaxRank];
  int64_t per_dimension[kMaxRank];
  int64_t count = 1;
};

namespace detail {

// The dimension along which operand k's neighbours in memory lie, if the innermost dimension is not it and steps so far
// that each of its elements is in a cache line of its own; -1 otherwise.
template <int N> int crossing_dimension(const Iteration<N>& points, int k) {
  const int last = points.rank - 1;
  const uint64_t step = magnitude(points.stride[k][last]);
  const uint64_t far = static_cast<uint64_t>(kCacheLine) / size_of(points.dtype[k]);
  if (step < far) return -1;
  int nearest = -1;
  for (int i = 0; i < last; ++i) {
    const uint64_t other = magnitude(points.stride[k][i]);
    if (other != 0 && other < far && (nearest < 0 || other < magnitude(points.stride[k][nearest]))) nearest = i;
  }
  return nearest;
}

}  // namespace detail

// Boxes are as long as they can be along the innermost dimensions, so that runs are long.  Where an operand runs across
// (a transposed matrix), boxes are as high as a cache line, so that each line is fetched once and used completely.
template <int N> Boxes cut(const Iteration<N>& points) {
  Boxes boxes;
  boxes.rank = points.rank;
  int64_t room = kTile;
  std::fill_n(boxes.edge, points.rank, 1);
  for (int k = N - 1; k >= 0 && points.rank > 1; --k) {
    const int across = detail::crossing_dimension(points, k);
    if (across < 0) continue;
    const int64_t line = kCacheLine / static_cast<int64_t>(size_of(points.dtype[k]));
    boxes.edge[across] = std::min(points.extent[across], line);
    room /= boxes.edge[across];
    break;
  }
  for (int i = points.rank - 1; i >= 0; --i) {
    if (boxes.edge[i] == 1) {
      boxes.edge[i] = std::clamp<int64_t>(room, 1, points.extent[i]);
      room /= boxes.edge[i];
    }
    boxes.per_dimension[i] = (points.extent[i] + boxes.edge[i] - 1) / boxes.edge[i];
    boxes.count *= boxes.per_dimension[i];
  }
  return boxes;
}

// The position of one box: index[i] counts boxes along dimension i.
struct BoxPosition {
  int64_t index[kMaxRank];

  BoxPosition(const Boxes& boxes, int64_t number) {
    for (int i = boxes.rank - 1; i >= 0; number /= boxes.per_dimension[i], --i)
      index[i] = number % boxes.per_dimension[i];
  }
  void next(const Boxes& boxes) {
    for (int i = boxes.rank - 1; i >= 0; --i) {
      if (++index[i] < boxes.per_dimension[i]) return;
      index[i] = 0;
    }
  }
};

// The dimensions of a box of the given extents for an operand of the given strides: neighbours merged, the axis along
// which memory is walked fastest last.
inline Axes axes_of(int rank, const int64_t* extent, const int64_t* stride) {
  Axes axes;
  int64_t position = 1;
  for (int i = rank - 1; i >= 0; position *= extent[i], --i) {
    if (extent[i] == 1) continue;
    if (axes.count > 0) {
      Axis& inner = axes.axis[axes.count - 1];
      if (stride[i] == inner.stride * inner.extent) {
        inner.extent *= extent[i];
        continue;
      }
    }
    axes.axis[axes.count++] = {extent[i], stride[i], position};
  }
  std::reverse(axes.axis, axes.axis + axes.count);
  if (axes.count > 1) {
    Axis* last = axes.axis + axes.count - 1;
    Axis* nearest = last;
    for (Axis* a = axes.axis; a != last; ++a)
      if (a->stride != 0 && detail::magnitude(a->stride) < detail::magnitude(nearest->stride)) nearest = a;
    if (nearest != last) std::rotate(nearest, nearest + 1, last + 1);
  }
  return axes;
}

namespace detail {

template <class Element, bool to_buffer> void move_run(const Axis& axis, Element* operand, Element* buffer) {
  const int64_t n = axis.extent, stride = axis.stride, position = axis.position;
  if constexpr (to_buffer) {
    if (position == 1 && stride == 1) return void(std::memcpy(buffer, operand, n * sizeof(Element)));
    if (position == 1 && stride == 0) return void(std::fill_n(buffer, n, *operand));
    for (int64_t i = 0; i < n; ++i) buffer[i * position] = operand[i * stride];
  } else {
    if (position == 1 && stride == 1) return void(std::memcpy(operand, buffer, n * sizeof(Element)));
    for (int64_t i = 0; i < n; ++i) operand[i * stride] = buffer[i * position];
  }
}

template <class Element, bool to_buffer>
void move_axes(const Axis* axis, int count, Element* operand, Element* buffer) {
  if (count == 0) return move_run<Element, to_buffer>({1, 1, 1}, operand, buffer);
  if (count == 1) return move_run<Element, to_buffer>(*axis, operand, buffer);
  for (int64_t i = 0; i < axis->extent; ++i)
    move_axes<Element, to_buffer>(axis + 1, count - 1, operand + i * axis->stride, buffer + i * axis->position);
}

// Elements are moved as what they are in size only; no two types of one size need code of their own.
struct Bytes16 {
  uint64_t half[2];
};
template <bool to_buffer> void move_elements(const Axes& axes, size_t element_size, void* operand, void* buffer) {
  const auto move = [&]<class Element>(Element* o, Element* b) {
    move_axes<Element, to_buffer>(axes.axis, axes.count, o, b);
  };
  switch (element_size) {
    case 2:
      return move(static_cast<uint16_t*>(operand), static_cast<uint16_t*>(buffer));
    case 4:
      return move(static_cast<uint32_t*>(operand), static_cast<uint32_t*>(buffer));
    case 8:
      return move(static_cast<uint64_t*>(operand), static_cast<uint64_t*>(buffer));
    default:
      return move(static_cast<Bytes16*>(operand), static_cast<Bytes16*>(buffer));
  }
}

}  // namespace detail

// Copies the elements of a box (2, 4, 8 or 16 bytes each) from the operand into the buffer, or back.
inline void gather(const Axes& axes, size_t element_size, const void* operand, void* buffer) {
  detail::move_elements<true>(axes, element_size, const_cast<void*>(operand), buffer);
}
inline void scatter(const Axes& axes, size_t element_size, const void* buffer, void* operand) {
  detail::move_elements<false>(axes, element_size, operand, const_cast<void*>(buffer));
}

}  // namespace descend
