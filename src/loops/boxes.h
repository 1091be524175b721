// SPDX-License-Identifier: MIT
// Cutting an Iteration into boxes that fit in the first-level cache, and moving the elements of one operand in a box to
// and from a contiguous buffer.  No arithmetic: nothing here depends on the SIMD target.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/tensor/iteration.h"

namespace descend {

inline constexpr int64_t kTile = 512;            // points of a box: 2 KiB of float an operand
inline constexpr int64_t kLargeBox = 4 * kTile;  // points of a box that an operand runs across
inline constexpr int64_t kChunk = 64 * kTile;    // points a thread takes at a time
inline constexpr int64_t kCacheLine = 64;        // bytes

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
//
// They are numbered by digits, the last one counting fastest.  A digit counts boxes along one dimension, `step` at a
// time.  Dimensions that are counted in groups have two digits, and numbers that lie beyond the last box of such a
// dimension have no points.
struct Boxes {
  struct Digit {
    int dimension;
    int64_t step, count;
  };
  int rank = 0;
  int64_t edge[kMaxRank];
  int digits = 0;
  Digit digit[kMaxRank + 2];
  int64_t count = 1;  // of numbers
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
// (a transposed matrix), boxes are as high as a cache line, so that each line is fetched once and used completely, and
// boxes that follow each other stay in a block of 256 rows or so: one such operand touches a page a column, the others
// one a row, and more pages than that would not stay in the processor's table of them.
template <int N> Boxes cut(const Iteration<N>& points) {
  Boxes boxes;
  const int rank = boxes.rank = points.rank, last = rank - 1;
  int64_t room = kTile;
  std::fill_n(boxes.edge, rank, 1);
  int across = -1;
  for (int k = N - 1; k >= 0 && across < 0 && rank > 1; --k) {
    across = detail::crossing_dimension(points, k);
    if (across < 0) continue;
    boxes.edge[across] = std::min(points.extent[across], kCacheLine / static_cast<int64_t>(size_of(points.dtype[k])));
    room = kLargeBox / boxes.edge[across];
  }
  int64_t per_dimension[kMaxRank];
  for (int i = last; i >= 0; --i) {
    if (boxes.edge[i] == 1) {
      boxes.edge[i] = std::clamp<int64_t>(room, 1, points.extent[i]);
      room /= boxes.edge[i];
    }
    per_dimension[i] = (points.extent[i] + boxes.edge[i] - 1) / boxes.edge[i];
  }
  const auto add = [&](int dimension, int64_t step, int64_t count) {
    boxes.digit[boxes.digits++] = {dimension, step, count};
    boxes.count *= count;
  };
  for (int i = 0; i <= last; ++i)
    if (across < 0 || (i != across && i != last)) add(i, 1, per_dimension[i]);
  if (across >= 0) {
    const int64_t high = std::min<int64_t>(per_dimension[across], 16), wide = std::min<int64_t>(per_dimension[last], 4);
    add(across, high, (per_dimension[across] + high - 1) / high);
    add(last, wide, (per_dimension[last] + wide - 1) / wide);
    add(last, 1, wide);
    add(across, 1, high);
  }
  return boxes;
}

// One box: where it begins and how large it is.
struct Box {
  int64_t value[kMaxRank + 2];  // of the digits
  int64_t first[kMaxRank], extent[kMaxRank];
  int64_t points;  // 0 for a number that is no box
  bool resized;    // another extent than before

  template <int N> Box(const Boxes& boxes, const Iteration<N>& of, int64_t number) : extent{} {
    for (int j = boxes.digits - 1; j >= 0; number /= boxes.digit[j].count, --j)
      value[j] = number % boxes.digit[j].count;
    place(boxes, of);
  }
  template <int N> void next(const Boxes& boxes, const Iteration<N>& of) {
    for (int j = boxes.digits - 1; j >= 0; --j) {
      if (++value[j] < boxes.digit[j].count) break;
      value[j] = 0;
    }
    place(boxes, of);
  }

 private:
  template <int N> void place(const Boxes& boxes, const Iteration<N>& of) {
    std::fill_n(first, boxes.rank, 0);
    for (int j = 0; j < boxes.digits; ++j) {
      const Boxes::Digit& digit = boxes.digit[j];
      first[digit.dimension] += value[j] * digit.step * boxes.edge[digit.dimension];
    }
    points = 1;
    resized = false;
    for (int i = 0; i < boxes.rank; ++i) {
      const int64_t size = std::clamp<int64_t>(of.extent[i] - first[i], 0, boxes.edge[i]);
      resized |= size != extent[i];
      extent[i] = size;
      points *= size;
    }
  }
};

// The dimensions of a box of the given extents for an operand of the given strides: neighbours merged, the axis to walk
// along last.
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
    // A line of memory at a time, unless that is a few elements: then as many as there can be.
    Axis* last = axes.axis + axes.count - 1;
    Axis* inner = last;
    for (Axis* a = axes.axis; a != last; ++a)
      if (a->stride != 0 && detail::magnitude(a->stride) < detail::magnitude(inner->stride)) inner = a;
    if (inner->extent < 8)
      for (Axis* a = axes.axis; a <= last; ++a)
        if (a->extent > inner->extent) inner = a;
    std::rotate(inner, inner + 1, last + 1);
  }
  return axes;
}

namespace detail {

template <class Element, bool to_buffer>
inline void move_run(const Axis axis, Element* __restrict operand, Element* __restrict buffer) {
  const int64_t n = axis.extent, stride = axis.stride, position = axis.position;
  if constexpr (to_buffer) {
    if (position == 1 && stride == 1) return void(std::memcpy(buffer, operand, n * sizeof(Element)));
    if (position == 1 && stride == 0) return void(std::fill_n(buffer, n, *operand));
    for (int64_t i = 0; i < n; ++i, operand += stride, buffer += position) *buffer = *operand;
  } else {
    if (position == 1 && stride == 1) return void(std::memcpy(operand, buffer, n * sizeof(Element)));
    for (int64_t i = 0; i < n; ++i, operand += stride, buffer += position) *operand = *buffer;
  }
}

// Two axes, of which the inner one walks along memory and across the buffer.  Four runs at a time: their elements are
// neighbours in the buffer, and their lines arrive together.
template <class Element, bool to_buffer>
void move_across(const Axis outer, const Axis inner, Element* __restrict operand, Element* __restrict buffer) {
  const int64_t step = outer.stride, position = outer.position;
  // Runs that are lines apart are fetched by nothing the processor foresees: they are asked for ahead, but no more of
  // them than the caches hold of lines that are a power of two apart.
  constexpr int64_t kAhead = 24;
  const bool apart = magnitude(step) * sizeof(Element) >= kCacheLine;
  const auto ask = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < std::min(end, outer.extent); ++i) {
      __builtin_prefetch(operand + i * step, to_buffer ? 0 : 1);
      __builtin_prefetch(operand + i * step + (inner.extent - 1) * inner.stride, to_buffer ? 0 : 1);
    }
  };
  if (apart) ask(0, kAhead);
  int64_t i = 0;
  for (; i + 4 <= outer.extent; i += 4) {
    if (apart) ask(i + kAhead, i + kAhead + 4);
    Element* o = operand + i * step;
    Element* b = buffer + i * position;
    for (int64_t j = 0; j < inner.extent; ++j, o += inner.stride, b += inner.position) {
      if constexpr (to_buffer) {
        const Element e0 = o[0], e1 = o[step], e2 = o[2 * step], e3 = o[3 * step];
        b[0] = e0, b[position] = e1, b[2 * position] = e2, b[3 * position] = e3;
      } else {
        const Element e0 = b[0], e1 = b[position], e2 = b[2 * position], e3 = b[3 * position];
        o[0] = e0, o[step] = e1, o[2 * step] = e2, o[3 * step] = e3;
      }
    }
  }
  for (; i < outer.extent; ++i) move_run<Element, to_buffer>(inner, operand + i * step, buffer + i * position);
}

template <class Element, bool to_buffer>
void move_axes(const Axis* axis, int count, Element* operand, Element* buffer) {
  if (count == 0) return move_run<Element, to_buffer>({1, 1, 1}, operand, buffer);
  if (count == 1) return move_run<Element, to_buffer>(*axis, operand, buffer);
  if (count == 2 && axis[1].position != 1) return move_across<Element, to_buffer>(axis[0], axis[1], operand, buffer);
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
    case 1:
      return move(static_cast<uint8_t*>(operand), static_cast<uint8_t*>(buffer));
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

// Copies the elements of a box (1, 2, 4, 8 or 16 bytes each) from the operand into the buffer, or back.
inline void gather(const Axes& axes, size_t element_size, const void* operand, void* buffer) {
  detail::move_elements<true>(axes, element_size, const_cast<void*>(operand), buffer);
}
inline void scatter(const Axes& axes, size_t element_size, const void* buffer, void* operand) {
  detail::move_elements<false>(axes, element_size, operand, const_cast<void*>(buffer));
}

}  // namespace descend
