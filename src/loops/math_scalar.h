// SPDX-License-Identifier: MIT
// exp, expm1 and log on one number, in plain C++ and in CUDA: the same formulas as math-inl.h and the same bits.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define DESCEND_MATH __host__ __device__ inline
#else
#define DESCEND_MATH inline
#endif

namespace descend::scalar {

template <class Element> struct Math {
  using T = Element;
  using V = Element;
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  DESCEND_MATH V set(T x) const { return x; }
  DESCEND_MATH V add(V a, V b) const { return a + b; }
  DESCEND_MATH V sub(V a, V b) const { return a - b; }
  DESCEND_MATH V mul(V a, V b) const { return a * b; }
  DESCEND_MATH V div(V a, V b) const { return a / b; }
  DESCEND_MATH V neg(V a) const { return -a; }
  DESCEND_MATH V abs(V a) const { return std::fabs(a); }
  DESCEND_MATH V mul_add(V a, V b, V c) const { return std::fma(a, b, c); }
  DESCEND_MATH V negative_mul_add(V a, V b, V c) const { return std::fma(-a, b, c); }
  DESCEND_MATH bool lt(V a, V b) const { return a < b; }
  DESCEND_MATH bool le(V a, V b) const { return a <= b; }
  DESCEND_MATH bool eq(V a, V b) const { return a == b; }
  DESCEND_MATH V select(bool which, V yes, V no) const { return which ? yes : no; }
  DESCEND_MATH V at_most(T bound, V x) const { return bound < x ? bound : x; }  // NaN stays
  DESCEND_MATH V at_least(T bound, V x) const { return x < bound ? bound : x; }
  // No NaN comes to these, or none that the result shows.
  DESCEND_MATH V no_less(T bound, V x) const { return std::fmax(bound, x); }
  DESCEND_MATH V within(T low, T high, V x) const { return no_less(low, std::fmin(high, x)); }
  DESCEND_MATH U bits(V a) const { return std::bit_cast<U>(a); }
  DESCEND_MATH V value(U a) const { return std::bit_cast<V>(a); }
  DESCEND_MATH U integer(U a) const { return a; }
  DESCEND_MATH U integer_add(U a, U b) const { return a + b; }
  DESCEND_MATH U integer_and(U a, U b) const { return a & b; }
  DESCEND_MATH U integer_or(U a, U b) const { return a | b; }
  template <int n> DESCEND_MATH U shift_left(U a) const { return a << n; }
  template <int n> DESCEND_MATH U shift_right(U a) const { return a >> n; }
};

#include "src/loops/math_formulas.inc"

// The numbers of exp_of_many and exp_factor (math_formulas.inc).
template <int lift> struct LargestOfMany {
  float origin, rest;  // most = origin + rest
  float bias;          // less the whole number nearest to rest / ln 2

  // Of numbers that are at least half and at most twice each other nothing is rounded.
  static constexpr float kNear = 512;

  DESCEND_MATH explicit LargestOfMany(float most) {
    const bool is_near = std::fabs(most) < kNear;
    origin = is_near ? 0 : most;
    rest = is_near ? most : 0;
    bias = exp_bias<lift>(Math<float>{}, rest);
  }
  DESCEND_MATH double factor() const { return exp_factor<lift>(Math<double>{}, double{rest}, double{bias}); }
};

}  // namespace descend::scalar

#undef DESCEND_MATH
