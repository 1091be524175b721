// SPDX-License-Identifier: MIT
// A function of numbers, at several points of a thread.
#pragma once
#include <utility>

#include "src/loops/math.cuh"

namespace descend::cuda {

template <class F>
concept HasQuick = requires {
  requires F::kHasQuick;
};

// A function that needs something from memory has prepare(): it answers the function, made once a thread.
template <class F> __device__ __forceinline__ auto prepared(const F& f) {
  if constexpr (requires { f.prepare(); })
    return f.prepare();
  else
    return f;
}

// The function at V points: operand k's number at point i is get(k, i).  Careful forms are asked for once a group of
// points: a branch for each would cost more than the work.
template <class T, int inputs, int V, class F, class Get>
__device__ __forceinline__ void evaluate(const F& f, const Get& get, T (&result)[V]) {
  const auto all = [&]<size_t... k>(const auto& number, const auto& function, std::index_sequence<k...>) {
    return function(number(static_cast<int>(k))...);
  };
  constexpr auto operands = std::make_index_sequence<inputs>();
  bool any = false;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const auto number = [&](int k) { return get(k, i); };
    if constexpr (HasQuick<F>) {
      bool rare = false;
      result[i] = all(
          number, [&](auto... in) { return f.quick(Lane<T>{}, rare, in...); }, operands);
      any |= rare;
    } else {
      result[i] = all(
          number, [&](auto... in) { return f(Lane<T>{}, in...); }, operands);
    }
  }
  if constexpr (HasQuick<F>) {
    if (!any) return;
#pragma unroll 1
    for (int which = 0; which < V; ++which) {
      const auto number = [&](int k) {  // of that point, without an address: numbers stay in registers
        T picked = get(k, 0);
#pragma unroll
        for (int i = 1; i < V; ++i)
          if (i == which) picked = get(k, i);
        return picked;
      };
      bool rare = false;
      T of_point = all(
          number, [&](auto... in) { return f.quick(Lane<T>{}, rare, in...); }, operands);
      if (rare)
        of_point = all(
            number, [&](auto... in) { return f(Lane<T>{}, in...); }, operands);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (i == which) result[i] = of_point;
    }
  }
}

}  // namespace descend::cuda
