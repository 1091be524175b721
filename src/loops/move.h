// SPDX-License-Identifier: MIT
// Moving the elements of one operand in a box to and from a contiguous buffer.  No arithmetic: nothing here depends on
// the SIMD target.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/tensor/iteration.h"

namespace descend {

inline constexpr int64_t kCacheLine = 64;  // bytes

// Asks for the lines of n elements.
template <bool to_write = false, class Element> inline void prefetch_run(const Element* from, int64_t n) {
  for (int64_t i = 0; i < n; i += kCacheLine / static_cast<int64_t>(sizeof(Element)))
    __builtin_prefetch(from + i, to_write);
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

// Some runs along memory, as many as a tile has rows, which lie `step` apart and become neighbours in the buffer.  The
// last tile may move some elements a second time.
template <class Element, bool to_buffer>
void move_tiles(int64_t step, const Axis& inner, Element* __restrict operand, Element* __restrict buffer) {
  for (int64_t next = 0; next < inner.extent; next += kLanes<Element>) {
    const int64_t j = std::min(next, inner.extent - kLanes<Element>);
    if constexpr (to_buffer)
      transpose_tile(operand + j, step, buffer + j * inner.position, inner.position);
    else
      transpose_tile(buffer + j * inner.position, inner.position, operand + j, step);
  }
}

// Two axes, of which the inner one walks along memory and across the buffer: a few runs at a time, whose elements are
// neighbours in the buffer.
template <class Element, bool to_buffer>
void move_across(const Axis outer, const Axis inner, Element* __restrict operand, Element* __restrict buffer) {
  constexpr int64_t kRuns = std::max(kLanes<Element>, 4), kAhead = 8;
  const bool in_tiles = inner.stride == 1 && outer.position == 1 && inner.extent >= kRuns && outer.extent >= kRuns;
  // Runs that are lines apart are fetched by nothing the processor foresees: they are asked for ahead, but no more of
  // them than the first cache holds of lines that are a power of two apart.
  const bool apart = inner.stride == 1 && magnitude(outer.stride) * sizeof(Element) >= kCacheLine;
  const auto ask = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; apart && i < std::min(end, outer.extent); ++i)
      prefetch_run<!to_buffer>(operand + i * outer.stride, inner.extent);
  };
  ask(0, kAhead);
  for (int64_t next = 0; next < outer.extent; next += kRuns) {
    ask(next + kAhead, next + kAhead + kRuns);
    if constexpr (kLanes < Element >> 1) {
      if (in_tiles) {
        const int64_t first = std::min(next, outer.extent - kRuns);  // the last runs may be moved a second time, too
        for (int64_t i = first; i < first + kRuns; i += kLanes<Element>)
          move_tiles<Element, to_buffer>(outer.stride, inner, operand + i * outer.stride, buffer + i);
        continue;
      }
    }
    for (int64_t j = 0; j < inner.extent; ++j)
      for (int64_t i = next; i < std::min(next + kRuns, outer.extent); ++i) {
        Element& o = operand[i * outer.stride + j * inner.stride];
        Element& b = buffer[i * outer.position + j * inner.position];
        to_buffer ? b = o : o = b;
      }
  }
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
