// SPDX-License-Identifier: MIT
// The nearest upsampling on NVIDIA GPUs.  Elements are moved as bits, 16 bytes of out at a time: along the channels
// where those are neighbours on both sides, otherwise along the width.
#include "ops/upsample_nearest3d/upsample_nearest3d_cuda.cuh"

namespace descend::cuda {
namespace {

// A thread writes V elements along the axis of the walk, in some neighbouring rows: what follows from the same source
// is read once.  `repeat`: each element of a row is there so often, one after the other; 0 where that is not known.
template <class Bits, class Index, int V, int along, int repeat>
__global__ void __launch_bounds__(kThreads)
    upsample(UpsampleNearest3dArgs a, VolumeWalk<along> walk, Bits* out, const Bits* from) {
  using Vectors = Some<Bits, V>;
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (number >= walk.count) return;
  Index index[kUpsampleAxes];
  walk.place(static_cast<Index>(number), index);
  const auto source = [&](int axis, Index o) { return source_of(o, a.factor[axis], a.input.size[axis]); };
#pragma unroll
  for (int axis = 0; axis < kUpsampleAxes; ++axis) out += index[axis] * a.output.stride[axis];
  from += index[kBatch] * a.input.stride[kBatch] + index[kChannel] * a.input.stride[kChannel] +
          source(kDepth, index[kDepth]) * a.input.stride[kDepth];
  if constexpr (along == kChannel)
    from += source(kWidth, index[kWidth]) * a.input.stride[kWidth];
  else if constexpr (repeat > 0)
    from += index[kWidth] / repeat;
  const Index height = static_cast<Index>(a.output.size[kHeight]) - index[kHeight];
  Index last = -1;
  Vectors some;
  for (int row = 0; row < walk.rows && row < height; ++row, out += a.output.stride[kHeight]) {
    const Index h = source(kHeight, index[kHeight] + row);
    if (h != last) {
      const Bits* const at = from + h * a.input.stride[kHeight];
      if constexpr (along == kChannel) {
        some = *reinterpret_cast<const Vectors*>(at);
      } else if constexpr (repeat > 0) {
        const auto few = *reinterpret_cast<const Some<Bits, V / repeat>*>(at);
#pragma unroll
        for (int i = 0; i < V; ++i) some.at[i] = few.at[i / repeat];
      } else {
#pragma unroll
        for (int i = 0; i < V; ++i) some.at[i] = at[source(kWidth, index[kWidth] + i) * a.input.stride[kWidth]];
      }
      last = h;
    }
    *reinterpret_cast<Vectors*>(out) = some;
  }
}

// How often a row repeats each of its elements: 1 or 2 where it is the same number for all, otherwise 0.
int64_t repeats(const UpsampleNearest3dArgs& a) {
  const float factor = a.factor[kWidth];
  if (factor != 1 && factor != 0.5f) return 0;
  const int64_t repeat = static_cast<int64_t>(1 / factor), last = a.output.size[kWidth] - 1;
  return last < (1 << 24) && last / repeat < a.input.size[kWidth] ? repeat : 0;  // up to there float counts exactly
}

template <class Bits> Status upsample_as(const UpsampleNearest3dArgs& a, void* const* data, Launch& launch) {
  constexpr int V = 16 / sizeof(Bits);
  const CudaLaunch on = cuda_launch(launch);
  Bits* const out = static_cast<Bits*>(data[0]);
  const Bits* const from = static_cast<const Bits*>(data[1]);
  const auto run = [&]<int along>(void (*kernel)(UpsampleNearest3dArgs, VolumeWalk<along>, Bits*, const Bits*), int v) {
    constexpr int kRows = 4;
    const VolumeWalk<along> walk(a.output, v, kRows);
    return start(on, kernel, ceil_divide(walk.count, kThreads), kThreads, 0, a, walk, out, from);
  };
  if (is_small(a)) {
    if (moves_together(a.output, kChannel, V, out, 16) && moves_together(a.input, kChannel, V, from, 16))
      return run(upsample<Bits, int, V, kChannel, 0>, V);
    if (moves_together(a.output, kWidth, V, out, 16)) {
      const int64_t repeat = repeats(a);
      const auto whole = [&](int64_t v) { return moves_together(a.input, kWidth, v, from, sizeof(Bits) * v); };
      if (repeat == 1 && whole(V)) return run(upsample<Bits, int, V, kWidth, 1>, V);
      if (repeat == 2 && whole(V / 2)) return run(upsample<Bits, int, V, kWidth, 2>, V);
      return run(upsample<Bits, int, V, kWidth, 0>, V);
    }
    return run(upsample<Bits, int, 1, kWidth, 0>, 1);
  }
  return run(upsample<Bits, int64_t, 1, kWidth, 0>, 1);
}

Status upsample_nearest3d(const UpsampleNearest3dArgs& a, void* const* data, Launch& launch) {
  switch (size_of(a.dtype)) {
    case 2:
      return upsample_as<uint16_t>(a, data, launch);
    case 4:
      return upsample_as<uint32_t>(a, data, launch);
    default:
      return upsample_as<uint64_t>(a, data, launch);
  }
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kUpsampleNearest3d, upsample_nearest3d);

}  // namespace
}  // namespace descend::cuda
