// SPDX-License-Identifier: MIT
// The gradient of the nearest upsampling on NVIDIA GPUs.
//
// A thread adds the boxes of some neighbours, each one term after the other in the order depth, height, width: along
// the channels where those are neighbours on both sides, or along the width where every box is equally wide.
#include "ops/upsample_nearest3d/upsample_nearest3d_cuda.cuh"

namespace descend::cuda {
namespace {

// What an input index owns on one axis of gradOut.
template <class Index> struct Owned { Index first, count; };
template <class Index>
__device__ __forceinline__ Owned<Index> owned(const UpsampleNearest3dArgs& a, int axis, Index i) {
  const Index first = first_owned(i, a.factor[axis], a.output.size[axis]);
  const Index count = first_owned(static_cast<Index>(i + 1), a.factor[axis], a.output.size[axis]) - first;
  return {count > 0 ? first : 0, count};
}

// `width`: of every box, where that is one number; 0 where not.
template <class T, class Element, class Index, int V, int along, int width>
__global__ void __launch_bounds__(kThreads)
    add_boxes(UpsampleNearest3dArgs a, VolumeWalk<along> walk, Element* to, const Element* from) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (number >= walk.count) return;
  Index index[kUpsampleAxes];
  walk.place(static_cast<Index>(number), index);
  const auto depth = owned(a, kDepth, index[kDepth]), height = owned(a, kHeight, index[kHeight]);
  const int64_t* const stride = a.output.stride;
  from += index[kBatch] * stride[kBatch] + index[kChannel] * stride[kChannel] + depth.first * stride[kDepth] +
          height.first * stride[kHeight];
  T sum[V] = {};
  const auto add_row = [&](const auto& add) {
    for (Index z = 0; z < depth.count; ++z)
#pragma unroll 2
      for (Index y = 0; y < height.count; ++y) add(from + z * stride[kDepth] + y * stride[kHeight]);
  };
  if constexpr (width > 0 && along == kChannel) {
    from += index[kWidth] * width * stride[kWidth];
    add_row([&](const Element* row) {
      Some<Element, V> terms[width];
#pragma unroll
      for (int j = 0; j < width; ++j) terms[j] = *reinterpret_cast<const Some<Element, V>*>(row + j * stride[kWidth]);
#pragma unroll
      for (int i = 0; i < V; ++i)
#pragma unroll
        for (int j = 0; j < width; ++j) sum[i] += widen<T>(terms[j].at[i]);
    });
  } else if constexpr (width > 0) {
    add_row([&](const Element* row) {
      Some<Element, V> terms[width];
#pragma unroll
      for (int j = 0; j < width; ++j)
        terms[j] = reinterpret_cast<const Some<Element, V>*>(row + index[kWidth] * width)[j];
#pragma unroll
      for (int i = 0; i < V; ++i)
#pragma unroll
        for (int j = 0; j < width; ++j) sum[i] += widen<T>(terms[(i * width + j) / V].at[(i * width + j) % V]);
    });
  } else {
    const auto columns = owned(a, kWidth, index[kWidth]);
    add_row([&](const Element* row) {
      row += columns.first * stride[kWidth];
#pragma unroll 2
      for (Index x = 0; x < columns.count; ++x, row += stride[kWidth]) {
        const auto terms = *reinterpret_cast<const Some<Element, V>*>(row);  // V channels
#pragma unroll
        for (int i = 0; i < V; ++i) sum[i] += widen<T>(terms.at[i]);
      }
    });
  }
  Some<Element, V> result;
#pragma unroll
  for (int i = 0; i < V; ++i) result.at[i] = narrow<Element>(sum[i]);
  int64_t at = 0;
#pragma unroll
  for (int axis = 0; axis < kUpsampleAxes; ++axis) at += index[axis] * a.input.stride[axis];
  *reinterpret_cast<Some<Element, V>*>(to + at) = result;
}

// The same where every box is as wide, as high and as deep: several rows of it are asked for at once.
template <class T, class Element, int V, int along, int length>
__global__ void __launch_bounds__(kThreads, 4)
    add_cubes(UpsampleNearest3dArgs a, VolumeWalk<along> walk, Element* to, const Element* from) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (number >= walk.count) return;
  int index[kUpsampleAxes];
  walk.place(static_cast<int>(number), index);
  const int64_t* const stride = a.output.stride;
  from += index[kBatch] * stride[kBatch] + index[kChannel] * stride[kChannel] +
          length * (index[kDepth] * stride[kDepth] + index[kHeight] * stride[kHeight] + index[kWidth] * stride[kWidth]);
  const int64_t apart = along == kChannel ? stride[kWidth] : V;
  constexpr int kRows = length == 2 ? 4 : length;
  T sum[V] = {};
#pragma unroll 1
  for (int z = 0; z < length; z += kRows / length, from += stride[kDepth]) {
    Some<Element, V> terms[kRows][length];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int j = 0; j < length; ++j)
        terms[r][j] = *reinterpret_cast<const Some<Element, V>*>(from + r / length * stride[kDepth] +
                                                                 r % length * stride[kHeight] + j * apart);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int i = 0; i < V; ++i)
#pragma unroll
        for (int j = 0; j < length; ++j) {
          const int k = along == kChannel ? j * V + i : i * length + j;
          sum[i] += widen<T>(terms[r][k / V].at[k % V]);
        }
  }
  Some<Element, V> result;
#pragma unroll
  for (int i = 0; i < V; ++i) result.at[i] = narrow<Element>(sum[i]);
#pragma unroll
  for (int axis = 0; axis < kUpsampleAxes; ++axis) to += index[axis] * a.input.stride[axis];
  *reinterpret_cast<Some<Element, V>*>(to) = result;
}

// How long every box is on an axis, if that is 1, 2, 3 or 4; otherwise 0.
int box_length(const UpsampleNearest3dArgs& a, int axis) {
  const float factor = a.factor[axis];
  if (factor != 1 && factor != 2 && factor != 3 && factor != 4) return 0;
  const int64_t size = a.input.size[axis], length = static_cast<int64_t>(factor);
  return size <= (1 << 22) && size * length <= a.output.size[axis] ? static_cast<int>(length) : 0;  // exact in float
}

template <class T, class Element> Status add_all(const UpsampleNearest3dArgs& a, void* const* data, Launch& launch) {
  constexpr int V = 16 / sizeof(Element);
  const CudaLaunch on = cuda_launch(launch);
  Element* const to = static_cast<Element*>(data[0]);
  const Element* const from = static_cast<const Element*>(data[1]);
  const auto run = [&]<int along>(void (*kernel)(UpsampleNearest3dArgs, VolumeWalk<along>, Element*, const Element*),
                                  int v) {
    const VolumeWalk<along> walk(a.input, v, 1);
    return start(on, kernel, ceil_divide(walk.count, kThreads), kThreads, 0, a, walk, to, from);
  };
  const auto together = [&](int axis) {
    return moves_together(a.input, axis, V, to, 16) && moves_together(a.output, axis, V, from, 16);
  };
  if (!is_small(a)) return run(add_boxes<T, Element, int64_t, 1, kWidth, 0>, 1);
  const int width = box_length(a, kWidth);
  const bool cubes = box_length(a, kHeight) == width && box_length(a, kDepth) == width;
  const auto run_along = [&]<int along> {
    if (cubes && width == 2) return run(add_cubes<T, Element, V, along, 2>, V);
    if (cubes && width == 3) return run(add_cubes<T, Element, V, along, 3>, V);
    switch (width) {
      case 1:
        return run(add_boxes<T, Element, int, V, along, 1>, V);
      case 2:
        return run(add_boxes<T, Element, int, V, along, 2>, V);
      case 3:
        return run(add_boxes<T, Element, int, V, along, 3>, V);
      case 4:
        return run(add_boxes<T, Element, int, V, along, 4>, V);
      default:
        return along == kChannel ? run(add_boxes<T, Element, int, V, kChannel, 0>, V)
                                 : run(add_boxes<T, Element, int, 1, kWidth, 0>, 1);
    }
  };
  if (together(kChannel)) return run_along.template operator()<kChannel>();
  if (together(kWidth)) return run_along.template operator()<kWidth>();
  return run(add_boxes<T, Element, int, 1, kWidth, 0>, 1);
}

Status upsample_nearest3d_backward(const UpsampleNearest3dArgs& a, void* const* data, Launch& launch) {
  Status status;
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype,
        [&]<class Element> { status = add_all<float, Element>(a, data, launch); });
  if (a.dtype == DataType::kDouble) status = add_all<double, double>(a, data, launch);
  return status;
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kUpsampleNearest3dBackward, upsample_nearest3d_backward);

}  // namespace
}  // namespace descend::cuda
