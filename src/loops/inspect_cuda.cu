// SPDX-License-Identifier: MIT
// The engine's look at values on NVIDIA GPUs.
#include "src/base/exponent.h"
#include "src/loops/elements.cuh"
#include "src/loops/inspect_kernels.h"
#include "src/loops/launch.cuh"

namespace descend::cuda {
namespace {

struct Seen {
  bool not_finite = false, has_class = false, has_other = false;
};

// Of a T, which is one number or a complex one's two.
template <class T> struct LookForNotFinite {
  using Bits = typename Exponent<T>::Bits;
  struct Element {
    Bits part[sizeof(T) / sizeof(Bits)];
  };
  __device__ void operator()(const Element& x, Seen& seen) const {
    for (const Bits bits : x.part) seen.not_finite |= (bits & Exponent<T>::kOnes) == Exponent<T>::kOnes;
  }
};
template <class Integer> struct LookForClasses {
  using Element = Integer;
  int64_t classes, ignored;
  __device__ void operator()(Integer x, Seen& seen) const {
    const int64_t value = x;
    const bool counts = value != ignored, inside = value >= 0 && value < classes;
    seen.has_class |= counts && inside;
    seen.has_other |= counts && !inside;
  }
};

// One store a block and kind: `to` is in memory of the host.
template <class Look>
__global__ void __launch_bounds__(kThreads)
    inspect_points(Places<1> places, int64_t points, int64_t vectors, const typename Look::Element* from, Look look,
                   Inspected* to) {
  using V = Vector<typename Look::Element>;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  Seen seen;
#pragma unroll 4
  for (int64_t i = first; i < vectors; i += step) {
    const V all = reinterpret_cast<const V*>(from)[i];
#pragma unroll
    for (int k = 0; k < V::kCount; ++k) look(all.at[k], seen);
  }
  for (int64_t i = vectors * V::kCount + first; i < points; i += step) {
    int64_t offset[1] = {};
    places.add(i, offset);
    look(from[offset[0]], seen);
  }
  const bool not_finite = __syncthreads_or(seen.not_finite), has_class = __syncthreads_or(seen.has_class),
             has_other = __syncthreads_or(seen.has_other);
  if (threadIdx.x != 0) return;
  to->ran = 1;
  if (not_finite) to->not_finite = 1;
  if (has_class) to->has_class = 1;
  if (has_other) to->has_other = 1;
}

template <class Look>
Status inspect_with(const Look& look, const InspectArgs& a, void* const* data, const CudaLaunch& on) {
  using Element = typename Look::Element;
  const int64_t points = a.points.points();
  const int64_t vectors = a.points.contiguous(0) && is_aligned(data[0]) ? points / Vector<Element>::kCount : 0;
  return start(on, inspect_points<Look>, std::max<int64_t>(blocks_for(on, points, kThreads, 8), 1), kThreads, 0,
               Places<1>(a.points), points, vectors, static_cast<const Element*>(data[0]), look,
               static_cast<Inspected*>(data[1]));
}

Status inspect(const InspectArgs& a, void* const* data, Launch& launch) {
  const CudaLaunch on = cuda_launch(launch);
  Status done;
  const auto look_for = [&](const auto& look) { done = inspect_with(look, a, data, on); };
  visit(Inexacts{}, a.points.dtype[0], [&]<class T> { look_for(LookForNotFinite<T>{}); }) ||
      visit(Dtypes<int64_t, int32_t, uint8_t>{}, a.points.dtype[0], [&]<class T> {
        look_for(LookForClasses<T>{a.classes, a.ignored});
      });
  return done;
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kInspect, inspect);

}  // namespace
}  // namespace descend::cuda
