// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss on NVIDIA GPUs.
//
// out is written once, 16 bytes at a time: along positions where those are neighbours (write_planes; a thread looks at
// its positions' targets once and writes all classes), or along classes (write_flat, write_rows; neighbours look at one
// target).  Any other layout goes element by element.  The numbers are those of nll_loss_backward_cpu.cc.
#include "ops/nll_loss/nll_loss_backward_flat_cuda.cuh"
#include "ops/nll_loss/nll_loss_backward_planes_cuda.cuh"
#include "src/loops/bytes.h"

namespace descend::cuda {
namespace {

// Classes are neighbours in out: a thread has a vector of them, V elements of one position.
template <class Bits, int V>
__global__ void __launch_bounds__(kThreads)
    write_rows(const __grid_constant__ Gradients gradients, const __grid_constant__ Places<3> places,
               Divisor per_position, int64_t vectors, int64_t class_stride, Bits* out) {
  struct alignas(V == 1 ? alignof(Bits) : V * sizeof(Bits)) Some {
    Bits at[V];
  };
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += step) {
    int64_t column = i, offset[3] = {};
    const int64_t position = per_position.divide(column);
    places.add(position, offset);
    const int64_t index = gradients.target_at(offset[1]), first = column * V;
    Some some = {};
    if (gradients.classes.counts(index) && index >= first && index < first + V) {
      const Bits value = gradients.of<Bits>(index, offset[2], gradients.common_factor());
#pragma unroll
      for (int j = 0; j < V; ++j)
        if (index == first + j) some.at[j] = value;
    }
    *reinterpret_cast<Some*>(out + offset[0] + first * class_stride) = some;
  }
}

// Whether every row of neighbours begins where 16 bytes may be written, and is made of such pieces.
template <class Bits> bool in_vectors(const NLLLossBackwardArgs& a, const void* out, int dimensions, int64_t width) {
  constexpr int64_t count = Vector<Bits>::kCount;
  if (!is_aligned(out) || width % count != 0) return false;
  for (int i = 0; i < dimensions; ++i)
    if (a.points.stride[0][i] % count != 0) return false;
  return true;
}

// The kernel for operands of one type and weights that are neighbours, or for any.
template <class Bits, class Pick> auto kernel_of(const NLLLossBackwardArgs& a, const Pick& pick) {
  auto kernel = pick.template operator()<void>();
  if (a.points.dtype[0] == a.classes.rounded && a.classes.weight.contiguous(0))
    visit(Dtypes<float, float16, bfloat16>{}, a.points.dtype[0], [&]<class Element> {
      if constexpr (sizeof(Element) == sizeof(Bits)) kernel = pick.template operator()<Element>();
    });
  return kernel;
}

template <class Bits> Status write_gradients(const NLLLossBackwardArgs& a, void* const* data, Launch& launch) {
  constexpr int64_t count = Vector<Bits>::kCount;
  const CudaLaunch on = cuda_launch(launch);
  const int64_t points = a.points.points(), classes = a.classes.count;
  if (points == 0 || classes == 0) return {};
  const Gradients gradients{
      Classes(a.classes, a.points.dtype[1], data[3]), data[1], data[2], data[4], a.points.dtype[0], a.reduced, a.mean};
  Bits* const out = static_cast<Bits*>(data[0]);
  const int last = a.points.rank - 1;
  if constexpr (sizeof(Bits) <= 4) {
    if (last >= 0 && a.points.stride[0][last] == 1 && (classes == 1 || a.class_stride % count == 0) &&
        in_vectors<Bits>(a, out, last, a.points.extent[last])) {
      // Enough threads to fill the card, and enough classes for each that looking at the targets costs little.
      constexpr int64_t kFewest = 64;
      const int64_t vectors = points / count, blocks = ceil_divide(vectors, kPlaneThreads<Bits>);
      const int64_t wanted = std::min(ceil_divide(on.multiprocessors * 4, blocks), ceil_divide(classes, kFewest));
      const int64_t per_part = std::min<int64_t>(ceil_divide(classes, wanted), kMostClasses);
      const int64_t parts = ceil_divide(classes, per_part);
      const auto kernel = kernel_of<Bits>(a, [&]<class Element> { return write_planes<Bits, Element>; });
      return start(on, kernel, blocks * parts, kPlaneThreads<Bits>, 0, gradients, Places<3>(a.points, last),
                   Divisor(a.points.extent[last] / count), vectors, a.points.stride[1][last], a.points.stride[2][last],
                   a.class_stride, static_cast<int>(per_part), Divisor(blocks), out);
    }
    const bool packed =
        (classes == 1 || a.class_stride == 1) && (last < 0 || (last == 0 && a.points.stride[0][0] == classes));
    if (packed && is_aligned(out) && classes <= INT32_MAX / 2) {
      // Of few classes so many that a block has 4096 positions at most: any card has shared memory for these.
      const int64_t vectors = std::min<int64_t>(kFlatVectors, 2 * classes), per_block = kThreads * vectors * count;
      static_assert(kThreads * 2 * count <= 4096);
      return start(on, kernel_of<Bits>(a, [&]<class Element> { return write_flat<Bits, Element>; }),
                   ceil_divide(points * classes, per_block), kThreads,
                   static_cast<size_t>(per_block / classes + 3) * sizeof(FlatPosition<Bits>), gradients,
                   Divisor(classes), static_cast<int>(vectors), points, last < 0 ? 0 : a.points.stride[1][0],
                   last < 0 ? 0 : a.points.stride[2][0], out);
    }
  }
  const Places<3> places(a.points);
  const auto rows = [&](auto kernel, int64_t per_position) {
    return start(on, kernel, blocks_for(on, points * per_position, kThreads, 64), kThreads, 0, gradients, places,
                 Divisor(per_position), points * per_position, a.class_stride, out);
  };
  if (count > 1 && a.class_stride == 1 && in_vectors<Bits>(a, out, a.points.rank, classes))
    return rows(write_rows<Bits, static_cast<int>(count)>, classes / count);
  return rows(write_rows<Bits, 1>, classes);
}

Status nll_loss_backward(const NLLLossBackwardArgs& a, void* const* data, Launch& launch) {
  switch (size_of(a.points.dtype[0])) {
    case 2:
      return write_gradients<uint16_t>(a, data, launch);
    case 4:
      return write_gradients<uint32_t>(a, data, launch);
    case 8:
      return write_gradients<uint64_t>(a, data, launch);
    default:
      return write_gradients<detail::Bytes16>(a, data, launch);
  }
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kNLLLossBackward, nll_loss_backward);

}  // namespace
}  // namespace descend::cuda
