// SPDX-License-Identifier: MIT
// What the loss and its gradient do alike on GPUs: which class a position counts for, and the weight of a class.
#pragma once
#include "ops/nll_loss/nll_loss_kernels.h"
#include "src/loops/elements.cuh"
#include "src/loops/launch.cuh"

namespace descend::cuda {

struct Classes {
  int64_t count, ignored;
  DataType index;  // of target
  DataType dtype;  // self's: of the weights, and what results are rounded to
  const void* weight;
  Places<1> places;  // of the weights
  bool line;         // they are neighbours

  Classes(const NLLClasses& c, DataType target, const void* weights)
      : count(c.count),
        ignored(c.ignored),
        index(target),
        dtype(c.rounded),
        weight(weights),
        places(c.weight),
        line(c.weight.contiguous(0)) {}

  // Whether a target names a class that counts: no other code trusts a number from memory.
  __device__ __forceinline__ bool counts(int64_t target) const {
    return static_cast<uint64_t>(target) < static_cast<uint64_t>(count) && target != ignored;
  }
  // Where a class's weight is.
  __device__ __forceinline__ int64_t place_of(int64_t c) const {
    if (line) return c;
    int64_t offset[1] = {};
    places.add(c, offset);
    return offset[0];
  }
  template <class T> __device__ __forceinline__ T weight_of(int64_t c) const {
    return load_as<T>(dtype, weight, place_of(c));
  }
};

}  // namespace descend::cuda
