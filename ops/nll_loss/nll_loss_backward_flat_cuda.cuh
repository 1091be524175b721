// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss where everything is one line, on GPUs: 16 bytes may be of several
// positions.
#pragma once
#include "ops/nll_loss/nll_loss_gradients_cuda.cuh"

namespace descend::cuda {

// All elements of out are neighbours, position after position.  A thread has some vectors of them, and a block finds
// first what is in the positions that its vectors belong to, which is kept in shared memory.
inline constexpr int kFlatVectors = 8;  // of a thread, at most
template <class Bits> struct FlatPosition {
  int number;  // of the class
  Bits value;
};
template <class Bits, class Element>
__global__ void __launch_bounds__(kThreads, std::is_void_v<Element> ? 3 : 6)  // of halves 5: 4 % slower, 8: up to 10 %
    write_flat(const __grid_constant__ Gradients gradients, Divisor per_position, int vectors, int64_t positions,
               int64_t target_step, int64_t gradient_step, Bits* out) {
  constexpr int count = Vector<Bits>::kCount, kPerWord = 4 / sizeof(Bits), kNowhere = -(1 << 30);
  FlatPosition<Bits>* const found = shared_memory<FlatPosition<Bits>>();
  const int classes = static_cast<int>(gradients.classes.count);
  const int per_block = kThreads * vectors * count;
  const int64_t begin = int64_t{blockIdx.x} * per_block, left = positions * classes - begin;
  const int elements = static_cast<int>(left < per_block ? left : per_block);
  int64_t column = begin;
  const int64_t first = per_position.divide(column);
  const int there = (static_cast<int>(column) + elements - 1) / classes + 1;
  constexpr int kAtOnce = 4;  // positions of a thread whose targets are asked for together
  for (int begin_at = static_cast<int>(threadIdx.x); begin_at <= there; begin_at += kAtOnce * kThreads) {
    const auto position = [&](int u) { return begin_at + u * kThreads; };
    int64_t target[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      target[u] = position(u) < there ? gradients.target_at((first + position(u)) * target_step) : -1;  // no class
    Bits value[kAtOnce];
    gradients.values<Element>(
        target, [&](int u) { return (first + position(u)) * gradient_step; },
        [&](int u) { return position(u) < there; }, value);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (position(u) > there) break;  // the last vector may ask for one more
      found[position(u)] = gradients.classes.counts(target[u])
                               ? FlatPosition<Bits>{static_cast<int>(target[u]), value[u]}
                               : FlatPosition<Bits>{kNowhere, Bits{}};
    }
  }
  __syncthreads();
#pragma unroll 4
  for (int v = 0; v < vectors; ++v) {
    const int at = (v * kThreads + static_cast<int>(threadIdx.x)) * count;
    if (at >= elements) return;
    uint32_t c = static_cast<uint32_t>(column) + static_cast<uint32_t>(at);
    int p = static_cast<int>(per_position.divide(c));
    uint32_t words[4] = {};
    int class_0 = -static_cast<int>(c);  // of the position, from the vector's begin
    const auto put = [&] {
      const unsigned mine = static_cast<unsigned>(class_0 + found[p].number);  // large where it is before the vector
      const uint32_t bits = static_cast<uint32_t>(found[p].value) << (mine % kPerWord * 16);
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) words[w] |= w == mine / kPerWord ? bits : 0;
      class_0 += classes;
      ++p;
    };
    put();
    put();
    while (class_0 < count && p < there) put();
    if (at + count <= elements) {
      *reinterpret_cast<uint4*>(out + begin + at) = {words[0], words[1], words[2], words[3]};
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (at + i < elements) out[begin + at + i] = static_cast<Bits>(words[i / kPerWord] >> (i % kPerWord * 16));
    }
  }
}

}  // namespace descend::cuda
