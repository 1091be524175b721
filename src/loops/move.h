// SPDX-License-Identifier: MIT
// Moving the elements of one operand in a box to and from a contiguous buffer.  No arithmetic: nothing here depends on
// the SIMD target.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/loops/bytes.h"
#include "src/tensor/iteration.h"

namespace descend {

// Asks for the lines of n elements.
template <class Element> inline void prefetch_run(const Element* from, int64_t n) {
  for (int64_t i = 0; i < n; i += kCacheLine / static_cast<int64_t>(sizeof(Element))) __builtin_prefetch(from + i);
}

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

// As many elements as 16 bytes hold, which every processor has registers for.
template <class Element> inline constexpr int kLanes = 16 / sizeof(Element);
template <class Element> struct VectorOf16 { typedef Element Type __attribute__((vector_size(16))); };

// a and b element by element: the first halves of both, or (half 1) the second ones.
template <int half, class Vector, size_t... i> Vector zip(Vector a, Vector b, std::index_sequence<i...>) {
  constexpr size_t n = sizeof...(i);
  return __builtin_shufflevector(a, b, (half * n / 2 + i / 2 + i % 2 * n)...);
}

// to[j * to_pitch + i] = from[i * from_pitch + j] for i and j up to the lanes of a vector.
template <class Element>
inline void transpose_tile(const Element* from, int64_t from_pitch, Element* to, int64_t to_pitch) {
  constexpr int n = kLanes<Element>;
  constexpr auto lanes = std::make_index_sequence<n>();
  typename VectorOf16<Element>::Type row[n], zipped[n];
  for (int i = 0; i < n; ++i) std::memcpy(&row[i], from + i * from_pitch, 16);
  for (int step = 1; step < n; step *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      zipped[2 * i] = zip<0>(row[i], row[i + n / 2], lanes);
      zipped[2 * i + 1] = zip<1>(row[i], row[i + n / 2], lanes);
    }
    std::copy_n(zipped, n, row);
  }
  for (int j = 0; j < n; ++j) std::memcpy(to + j * to_pitch, &row[j], 16);
}

// Two axes, of which the inner one walks along memory and across the buffer, in tiles: as many runs at a time as a tile
// has rows, and a line of each.  The last tiles may move some elements a second time.
template <class Element, bool to_buffer>
void move_tiles(const Axis outer, const Axis inner, Element* __restrict operand, Element* __restrict buffer) {
  constexpr int64_t kEdge = kLanes<Element>, kLine = kCacheLine / sizeof(Element), kAhead = std::max<int64_t>(kEdge, 4);
  const auto move = [=](int64_t i, int64_t j) {
    Element* const o = operand + i * outer.stride + j;
    Element* const b = buffer + j * inner.position + i;
    if constexpr (to_buffer)
      transpose_tile(o, outer.stride, b, inner.position);
    else
      transpose_tile(b, inner.position, o, outer.stride);
  };
  for (int64_t next = 0; next < outer.extent; next += kEdge) {
    const int64_t i = std::min(next, outer.extent - kEdge);
    const bool more = i + kAhead + kEdge <= outer.extent;
    int64_t j = 0;
    for (; j + kLine <= inner.extent; j += kLine) {
      // Runs that are lines apart are fetched by nothing the processor foresees.
      for (int64_t k = 0; more && k < kEdge; ++k)
        __builtin_prefetch(operand + (i + kAhead + k) * outer.stride + j, to_buffer ? 0 : 1);
      for (int64_t k = 0; k < kLine; k += kEdge) move(i, j + k);
    }
    for (; j < inner.extent; j += kEdge) move(i, std::min(j, inner.extent - kEdge));
  }
}

// The same of any strides: four runs at a time, whose elements are neighbours in the buffer and whose lines arrive
// together.
template <class Element, bool to_buffer>
void move_across(const Axis outer, const Axis inner, Element* __restrict operand, Element* __restrict buffer) {
  const int64_t step = outer.stride, position = outer.position;
  int64_t i = 0;
  for (; i + 4 <= outer.extent; i += 4) {
    Element* o = operand + i * step;
    Element* b = buffer + i * position;
    for (int64_t j = 0; j < inner.extent; ++j, o += inner.stride, b += inner.position)
      for (int64_t k = 0; k < 4; ++k) to_buffer ? b[k * position] = o[k * step] : o[k * step] = b[k * position];
  }
  for (; i < outer.extent; ++i) move_run<Element, to_buffer>(inner, operand + i * step, buffer + i * position);
}

template <class Element, bool to_buffer>
void move_axes(const Axis* axis, int count, Element* operand, Element* buffer) {
  if (count == 0) return move_run<Element, to_buffer>({1, 1, 1}, operand, buffer);
  if (count == 1) return move_run<Element, to_buffer>(*axis, operand, buffer);
  if (count == 2 && axis[1].position != 1) {
    constexpr int64_t kEdge = kLanes<Element>;
    const bool neighbours = axis[1].stride == 1 && axis[0].position == 1;
    if constexpr (kEdge > 1) {
      if (neighbours && axis[0].extent >= kEdge && axis[1].extent >= kEdge)
        return move_tiles<Element, to_buffer>(axis[0], axis[1], operand, buffer);
    }
    return move_across<Element, to_buffer>(axis[0], axis[1], operand, buffer);
  }
  for (int64_t i = 0; i < axis->extent; ++i)
    move_axes<Element, to_buffer>(axis + 1, count - 1, operand + i * axis->stride, buffer + i * axis->position);
}

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
