// SPDX-License-Identifier: MIT
// What the gradient of the negative log likelihood loss is in the classes of some positions, on GPUs: the numbers of
// nll_loss_backward_cpu.cc.
#pragma once
#include <bit>
#include <type_traits>

#include "ops/nll_loss/nll_loss_cuda.cuh"

namespace descend::cuda {

// What is in a position's class.
struct Gradients {
  Classes classes;
  const void *target, *gradOutput, *totalWeight;
  DataType out;
  bool reduced, mean;

  __device__ __forceinline__ int64_t target_at(int64_t at) const { return load_index(classes.index, target, at); }

  // What every class's weight is multiplied with, where gradOutput is one number.
  template <class Element = void> __device__ __forceinline__ double common_factor() const {
    const auto number = [&](const void* at) {
      if constexpr (std::is_void_v<Element>)
        return load_as<double>(classes.dtype, at, 0);
      else
        return widen<double>(*static_cast<const Element*>(at));
    };
    double factor = 1;
    if (reduced) factor = number(gradOutput);
    if (reduced && mean) factor /= number(totalWeight);
    return factor;
  }
  // The gradient in class c of a position, as an element of out.  Not inlined: copies of all its cases would not fit
  // where a multiprocessor keeps its instructions.
  template <class Bits> __device__ __noinline__ Bits of(int64_t c, int64_t gradient_at, double factor) const {
    Bits bits;
    if (reduced) {
      store(-(factor * classes.weight_of<double>(c)), &bits);
    } else {
      store(-(load_as<float>(classes.dtype, gradOutput, gradient_at) * classes.weight_of<float>(c)), &bits);
    }
    return bits;
  }
  // What is in the classes that N targets name, of use where they count; number i's is at gradient_at(i) in gradOutput,
  // if it is_there(i).  Element: every operand is one, and weights are neighbours, so that those of all N are asked for
  // at once; void: anything.
  template <class Element, class Bits, int N, class At, class IsThere>
  __device__ __forceinline__ void values(const int64_t (&target)[N], const At& gradient_at, const IsThere& is_there,
                                         Bits (&value)[N]) const {
    if constexpr (std::is_void_v<Element>) {
      const double factor = common_factor();
#pragma unroll
      for (int i = 0; i < N; ++i)
        if (classes.counts(target[i])) value[i] = of<Bits>(target[i], gradient_at(i), factor);
    } else {
      Element gradient[N] = {}, weight[N];
      if (!reduced) {
#pragma unroll
        for (int i = 0; i < N; ++i)
          if (is_there(i)) gradient[i] = static_cast<const Element*>(gradOutput)[gradient_at(i)];
      }
#pragma unroll
      for (int i = 0; i < N; ++i)
        weight[i] = static_cast<const Element*>(classes.weight)[classes.counts(target[i]) ? target[i] : 0];
      const double factor = common_factor<Element>();
#pragma unroll
      for (int i = 0; i < N; ++i)
        value[i] =
            std::bit_cast<Bits>(reduced ? narrow<Element>(-(factor * widen<double>(weight[i])))
                                        : narrow<Element>(-(widen<float>(gradient[i]) * widen<float>(weight[i]))));
    }
  }

 private:
  template <class T> __device__ __forceinline__ void store(T gradient, void* to) const {
    store_as(out == classes.dtype ? gradient : round_to(classes.dtype, gradient), out, to, 0);
  }
};

}  // namespace descend::cuda
