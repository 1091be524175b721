// SPDX-License-Identifier: MIT
// The nearest upsampling on NVIDIA GPUs.  Elements are moved as bits, 16 bytes of out at a time: along the channels
// where those are neighbours on both sides, otherwise along the width.
#include "ops/upsample_nearest3d/upsample_nearest3d_cuda.cuh"

namespace descend::cuda {
namespace {

// V elements from number `begin` of a row on that repeats each element of `from`.
template <int repeat, int V, class Bits, class Index>
__device__ __forceinline__ Some<Bits, V> repeated(const Bits* from, Index begin) {
  Some<Bits, V> some;
  from += begin / repeat;
  if constexpr (V % repeat == 0) {
    const auto few = *reinterpret_cast<const Some<Bits, V / repeat>*>(from);
#pragma unroll
    for (int i = 0; i < V; ++i) some.at[i] = few.at[i / repeat];
  } else {
    const int phase = static_cast<int>(begin % repeat);  // the first one has been there so often already
    constexpr int kMost = (V + repeat - 2) / repeat + 1;
    Bits few[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i)
      if (i * repeat < phase + V) few[i] = from[i];  // no further than the row
#pragma unroll
    for (int i = 0; i < V; ++i) {
      some.at[i] = few[i / repeat];
      if (i % repeat != 0 && phase + i % repeat >= repeat) some.at[i] = few[i / repeat + 1];
    }
  }
  return some;
}

// A thread writes V elements along the axis of the walk, in some neighbouring rows: what follows from the same source
// is read once.  It asks for what the thread reads whose number is `ahead` more, if there is one: of its rows the first
// one's source and the last one's.  `repeat`: each element of a row is there so often, one after the other; 0 where
// that is not known.
template <class Bits, class Index, int V, int along, int repeat>
__global__ void __launch_bounds__(kThreads)
    upsample(UpsampleNearest3dArgs a, VolumeWalk<along> walk, int64_t ahead, Bits* out, const Bits* from) {
  using Vectors = Some<Bits, V>;
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (number >= walk.count) return;
  Index index[kUpsampleAxes];
  walk.place(static_cast<Index>(number), index);
  const auto source = [&](int axis, Index o) { return source_of(o, a.factor[axis], a.input.size[axis]); };
  if (V > 1 && ahead < walk.count - number) {
    Index then[kUpsampleAxes];
    walk.place(static_cast<Index>(number + ahead), then);
    const Bits* const at = from + then[kBatch] * a.input.stride[kBatch] + then[kChannel] * a.input.stride[kChannel] +
                           source(kDepth, then[kDepth]) * a.input.stride[kDepth] +
                           source(kWidth, then[kWidth]) * a.input.stride[kWidth];
    const Index first = source(kHeight, then[kHeight]), last = source(kHeight, then[kHeight] + walk.rows - 1);
    ask_early(at + first * a.input.stride[kHeight]);
    if (last != first) ask_early(at + last * a.input.stride[kHeight]);
  }
#pragma unroll
  for (int axis = 0; axis < kUpsampleAxes; ++axis) out += index[axis] * a.output.stride[axis];
  from += index[kBatch] * a.input.stride[kBatch] + index[kChannel] * a.input.stride[kChannel] +
          source(kDepth, index[kDepth]) * a.input.stride[kDepth];
  if constexpr (along == kChannel) from += source(kWidth, index[kWidth]) * a.input.stride[kWidth];
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
        some = repeated<repeat, V>(at, index[kWidth]);
      } else {
#pragma unroll
        for (int i = 0; i < V; ++i) some.at[i] = at[source(kWidth, index[kWidth] + i) * a.input.stride[kWidth]];
      }
      last = h;
    }
    *reinterpret_cast<Vectors*>(out) = some;
  }
}

// How often each index of an axis is repeated: 1, 2 or 3 where it is the same number for all, otherwise 0.
int repeats(const UpsampleNearest3dArgs& a, int axis) {
  constexpr int64_t kExact = 1 << 20;  // up to there the product with a third, too, is off by less than another third
  for (const int repeat : {1, 2, 3}) {
    if (a.factor[axis] != 1.0f / static_cast<float>(repeat)) continue;
    const int64_t last = a.output.size[axis] - 1;
    return last < kExact && last / repeat < a.input.size[axis] ? repeat : 0;
  }
  return 0;
}

template <class Bits> Status upsample_as(const UpsampleNearest3dArgs& a, void* const* data, Launch& launch) {
  constexpr int V = 16 / sizeof(Bits);
  const CudaLaunch on = cuda_launch(launch);
  Bits* const out = static_cast<Bits*>(data[0]);
  const Bits* const from = static_cast<const Bits*>(data[1]);
  const auto run = [&]<int along>(void (*kernel)(UpsampleNearest3dArgs, VolumeWalk<along>, int64_t, Bits*, const Bits*),
                                  int v) {
    const int repeat = repeats(a, kHeight), rows = repeat == 3 ? 3 : 4;  // of whole sources where tripled or doubled
    const VolumeWalk<along> walk(a.output, v, rows);
    // Where height is tripled along channels, finding what to ask for costs more than it gains: 3 to 12 % slower.
#ifdef DESCEND_EMULATED
    constexpr int64_t kBlocksAhead = 1;  // so few that tests have more
#else
    constexpr int64_t kBlocksAhead = 256;
#endif
    const bool asks = repeat == 2 || (repeat == 3 && along == kWidth);
    const int64_t ahead = asks ? kBlocksAhead * kThreads : walk.count;
    return start(on, kernel, ceil_divide(walk.count, kThreads), kThreads, 0, a, walk, ahead, out, from);
  };
  if (is_small(a)) {
    if (moves_together(a.output, kChannel, V, out, 16) && moves_together(a.input, kChannel, V, from, 16))
      return run(upsample<Bits, int, V, kChannel, 0>, V);
    if (moves_together(a.output, kWidth, V, out, 16)) {
      const int repeat = repeats(a, kWidth);
      const auto whole = [&](int64_t v) { return moves_together(a.input, kWidth, v, from, sizeof(Bits) * v); };
      if (repeat == 1 && whole(V)) return run(upsample<Bits, int, V, kWidth, 1>, V);
      if (repeat == 2 && whole(V / 2)) return run(upsample<Bits, int, V, kWidth, 2>, V);
      if (repeat == 3 && a.input.stride[kWidth] == 1) return run(upsample<Bits, int, V, kWidth, 3>, V);
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
