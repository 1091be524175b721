// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss where positions are neighbours, on GPUs: a thread looks at its
// positions' targets once and writes all classes, 16 bytes of each plane.
#pragma once
#include "ops/nll_loss/nll_loss_gradients_cuda.cuh"

namespace descend::cuda {

// A word of gradients and the classes they are in, as many as it holds: that word of class c's plane.
template <class Bits> struct PlaneWord {
  uint32_t value = 0, number = 0;
  __device__ __forceinline__ uint32_t of_class(uint32_t c) const {
    if constexpr (sizeof(Bits) == 2)
      return __vcmpeq2(number, c * 0x10001u) & value;
    else
      return number == c ? value : 0;
  }
};

// Positions are neighbours in out.  A thread has a vector of them, and the classes of its part: at most kMostClasses,
// and the number behind means none of them.
inline constexpr int kMostClasses = 0xffff;
template <class Bits> constexpr int kPlaneThreads = 1024 / Vector<Bits>::kCount;  // twice as many of halves: 8 % slower
template <class Bits, class Element>
__global__ void __launch_bounds__(kPlaneThreads<Bits>)
    write_planes(const __grid_constant__ Gradients gradients, const __grid_constant__ Places<3> outer, Divisor per_row,
                 int64_t vectors, int64_t target_step, int64_t gradient_step, int64_t class_stride,
                 int classes_per_part, Divisor blocks, Bits* out) {
  constexpr int count = Vector<Bits>::kCount, kPerWord = 4 / sizeof(Bits);
  int64_t block = blockIdx.x;  // those that run together write neighbouring runs of the same planes
  const int64_t part = blocks.divide(block), first = part * classes_per_part;
  const int64_t left = gradients.classes.count - first;
  const uint32_t classes = static_cast<uint32_t>(left < classes_per_part ? left : classes_per_part);
  int64_t column = block * kPlaneThreads<Bits> + threadIdx.x, offset[3] = {};
  if (column >= vectors) return;
  if (outer.rank > 0) outer.add(per_row.divide(column), offset);
  int64_t target[count];
  visit(Dtypes<int64_t, int32_t, uint8_t>{}, gradients.classes.index, [&]<class Index> {
    const Index* from = static_cast<const Index*>(gradients.target) + offset[1] + column * count * target_step;
#pragma unroll
    for (int i = 0; i < count; ++i, from += target_step) target[i] = *from;
  });
  Bits value[count];
  gradients.values<Element>(
      target, [&](int i) { return offset[2] + (column * count + i) * gradient_step; }, [](int) { return true; }, value);
  PlaneWord<Bits> words[4];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const bool is_here =
        gradients.classes.counts(target[i]) && target[i] >= first && target[i] - first < int64_t{classes};
    PlaneWord<Bits>& word = words[i / kPerWord];
    word.value |= (is_here ? uint32_t{value[i]} : 0) << (i % kPerWord * 16);
    word.number |= (is_here ? static_cast<uint32_t>(target[i] - first) : kMostClasses) << (i % kPerWord * 16);
  }
  out += offset[0] + column * count + first * class_stride;
#pragma unroll 2
  for (uint32_t c = 0; c < classes; ++c, out += class_stride)
    store_at_once(out, uint4{words[0].of_class(c), words[1].of_class(c), words[2].of_class(c), words[3].of_class(c)});
}

}  // namespace descend::cuda
