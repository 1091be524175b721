// SPDX-License-Identifier: MIT
// What the upsampling and its gradient do alike on GPUs: numbering the elements of a volume, some neighbours at a time.
#pragma once
#include "ops/upsample_nearest3d/upsample_nearest3d_kernels.h"
#include "src/loops/elements.cuh"
#include "src/loops/launch.cuh"

namespace descend::cuda {

// V elements, moved at once where V is more than 1.
template <class Element, int V> struct alignas(V * sizeof(Element)) Some { Element at[V]; };

// Indices are int where all sizes and numbers are below 2^31: half the instructions.
inline bool is_small(const UpsampleNearest3dArgs& a) {
  for (const UpsampleView* view : {&a.input, &a.output}) {
    int64_t elements = 1;
    for (const int64_t size : view->size)
      if (size > INT32_MAX || (elements *= size) > INT32_MAX) return false;
  }
  return true;
}

// min(x, limit) as upsample_index has it; the conversion of what is too large for int gives the largest.
__device__ __forceinline__ int index_of(float x, int limit) { return x > 0 ? min(__float2int_rz(x), limit) : 0; }
__device__ __forceinline__ int64_t index_of(float x, int64_t limit) { return upsample_index(x, limit); }
// upsample_source and upsample_first_owned.
template <class Index> __device__ __forceinline__ Index source_of(Index o, float factor, int64_t inputs) {
  return index_of(std::floor(static_cast<float>(o) * factor), static_cast<Index>(inputs - 1));
}
template <class Index> __device__ __forceinline__ Index first_owned(Index i, float factor, int64_t outputs) {
  return index_of(std::ceil(static_cast<float>(i) * factor), static_cast<Index>(outputs));
}

// The elements of a view by number, some at a time: `step` along one axis, which counts fastest, and `rows` along the
// height.
template <int along> struct VolumeWalk {
  static_assert(along == kChannel || along == kWidth);
  Divisor size[kUpsampleAxes];
  int64_t count = 1;
  int step, rows;

  VolumeWalk(const UpsampleView& view, int v, int height) : step(v), rows(height) {
    for (int axis = 0; axis < kUpsampleAxes; ++axis) {
      const int64_t pieces = axis == along     ? view.size[axis] / v
                             : axis == kHeight ? ceil_divide(view.size[axis], height)
                                               : view.size[axis];
      size[axis] = Divisor(std::max<int64_t>(pieces, 1));
      count *= pieces;
    }
  }
  template <class Index> __device__ __forceinline__ void place(Index number, Index (&index)[kUpsampleAxes]) const {
    using Number = std::conditional_t<sizeof(Index) == 4, uint32_t, int64_t>;
    Number rest = static_cast<Number>(number);
    const auto take = [&](int axis) {
      Number at = rest;
      rest = size[axis].divide(at);
      return static_cast<Index>(at);
    };
    index[along] = take(along) * step;
#pragma unroll
    for (int axis = kUpsampleAxes - 1; axis > kBatch; --axis)
      if (axis != along) index[axis] = take(axis);
    index[kHeight] *= rows;
    index[kBatch] = static_cast<Index>(rest);
  }
};

// Whether v neighbours along the axis may be moved at once, wherever they begin.
inline bool moves_together(const UpsampleView& view, int axis, int64_t v, const void* data, size_t bytes) {
  if (view.stride[axis] != 1 || view.size[axis] % v != 0 || !is_aligned(data, bytes)) return false;
  for (int each = 0; each < kUpsampleAxes; ++each)
    if (each != axis && view.size[each] > 1 && view.stride[each] % v != 0) return false;
  return true;
}

}  // namespace descend::cuda
