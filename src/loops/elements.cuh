// SPDX-License-Identifier: MIT
// Elements in memory <-> the type a kernel computes in, for CUDA.  As convert_cpu-inl.h: everything rounds to nearest
// even, keeps subnormals and keeps a NaN a NaN.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "src/base/dtype.h"
#include "src/base/round_to_odd.h"

namespace descend::cuda {

// Sixteen bytes of elements, moved at once.
template <class Element> struct alignas(16) Vector {
  static constexpr int kCount = 16 / sizeof(Element);
  Element at[kCount];
};

// Fewer of them.
template <class Element, int V> struct alignas(V * sizeof(Element)) Columns { Element at[V]; };

template <class T, class Element> __device__ __forceinline__ T widen(Element x) {
  if constexpr (std::is_same_v<Element, float16>)
    return static_cast<T>(__half2float(__ushort_as_half(x.bits)));
  else if constexpr (std::is_same_v<Element, bfloat16>)
    return static_cast<T>(__uint_as_float(uint32_t{x.bits} << 16));
  else
    return static_cast<T>(x);
}

template <class Element, class T> __device__ __forceinline__ Element narrow(T x) {
  if constexpr (std::is_arithmetic_v<Element>)
    return static_cast<Element>(x);
  else if constexpr (std::is_same_v<T, double>)
    return narrow<Element>(round_to_odd(x));  // rounds once: the float keeps that it is inexact
  else if constexpr (std::is_same_v<Element, float16>)
    return {__half_as_ushort(__float2half_rn(x))};
  else
    return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

// Many at once: two float16 or bfloat16 are one instruction.
template <class Element, class T, int V> __device__ __forceinline__ void narrow_all(const T (&from)[V], Element* to) {
  if constexpr (std::is_same_v<T, float> && sizeof(Element) == 2 && V % 2 == 0) {
#pragma unroll
    for (int i = 0; i < V; i += 2) {
      if constexpr (std::is_same_v<Element, float16>) {
        const __half2 two = __floats2half2_rn(from[i], from[i + 1]);
        to[i] = {__half_as_ushort(__low2half(two))};
        to[i + 1] = {__half_as_ushort(__high2half(two))};
      } else {
        const __nv_bfloat162 two = __floats2bfloat162_rn(from[i], from[i + 1]);
        to[i] = {__bfloat16_as_ushort(__low2bfloat16(two))};
        to[i + 1] = {__bfloat16_as_ushort(__high2bfloat16(two))};
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = narrow<Element>(from[i]);
  }
}

// Those of a Vector, or Columns.  A bfloat16 is the upper half of a float: in words of two each takes one instruction,
// where the compiler takes an element out of its word before it shifts it.
template <class Piece, class T, int V> __device__ __forceinline__ void widen_all(const Piece& from, T (&to)[V]) {
  if constexpr (std::is_same_v<decltype(from.at), bfloat16[V]> && std::is_same_v<T, float> && V % 2 == 0) {
    const auto words = std::bit_cast<Columns<uint32_t, V / 2>>(from);
#pragma unroll
    for (int i = 0; i < V; i += 2) {
      to[i] = __uint_as_float(words.at[i / 2] << 16);
      to[i + 1] = __uint_as_float(words.at[i / 2] & 0xffff0000u);
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = widen<T>(from.at[i]);
  }
}

// Stores 16 bytes by one instruction: of an assignment the compiler sometimes makes one for each element.  Or does not,
// without a branch.
template <class Piece>
__device__ __forceinline__ void store_at_once(void* to, const Piece& piece, bool is_there = true) {
  const uint4 words = std::bit_cast<uint4>(piece);
#ifdef DESCEND_EMULATED
  if (is_there) *static_cast<uint4*>(to) = words;
#else
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n\t}" ::"l"(to),
      "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(static_cast<uint32_t>(is_there))
      : "memory");
#endif
}

// Loads them so.
template <class Piece> __device__ __forceinline__ Piece load_at_once(const void* from) {
  return std::bit_cast<Piece>(*static_cast<const uint4*>(from));
}

// Asks for what another block of threads is going to read, in the L2 cache.
__device__ __forceinline__ void ask_early(const void* from) {
#ifdef DESCEND_EMULATED
  [[maybe_unused]] const char there = *static_cast<const volatile char*>(from);  // tests see that it is
#else
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

// Loads 16 bytes for which others make room in the L2 cache until somebody, soon, loads them for the last time: all of
// them, or they would stay there through anything (measured on an H200; CUDA promises neither).
template <class Piece> __device__ __forceinline__ Piece load_to_stay(const Piece* from) {
#ifdef DESCEND_EMULATED
  return *from;
#else
  static_assert(sizeof(Piece) == 16);
  uint64_t policy;
  uint4 words;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from), "l"(policy));
  return std::bit_cast<Piece>(words);
#endif
}
template <class T> __device__ __forceinline__ T load_for_the_last_time(const T* from) {
#ifdef DESCEND_EMULATED
  return *from;
#else
  static_assert(sizeof(T) == 8 || sizeof(T) == 4);
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  if constexpr (sizeof(T) == 8) {
    uint64_t word;
    asm volatile("ld.global.L2::cache_hint.b64 %0, [%1], %2;" : "=l"(word) : "l"(from), "l"(policy));
    return std::bit_cast<T>(word);
  } else {
    uint32_t word;
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(word) : "l"(from), "l"(policy));
    return std::bit_cast<T>(word);
  }
#endif
}

// Keeps the larger of two elements, at each of V places; a number rather than a NaN.
template <class Element, int V> __device__ __forceinline__ void keep_larger(Element (&most)[V], const Element (&x)[V]) {
  if constexpr (sizeof(Element) == 2 && V % 2 == 0) {  // two by one instruction
    using Two = std::conditional_t<std::is_same_v<Element, float16>, __half2, __nv_bfloat162>;
#pragma unroll
    for (int i = 0; i < V / 2; ++i) {
      Two& both = reinterpret_cast<Two*>(most)[i];
      both = __hmax2(both, reinterpret_cast<const Two*>(x)[i]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) most[i] = narrow<Element>(std::fmax(widen<float>(most[i]), widen<float>(x[i])));
  }
}

// Which of two halves are equal: 0xffff at the place of each in a word.  -0 is 0, and NaN nothing.
template <class Half> __device__ __forceinline__ uint32_t equals(Columns<Half, 2> a, Columns<Half, 2> b) {
  using Two = std::conditional_t<std::is_same_v<Half, float16>, __half2, __nv_bfloat162>;
  return __heq2_mask(reinterpret_cast<const Two&>(a), reinterpret_cast<const Two&>(b));
}

// Element `index` of an operand whose dtype only the run knows: FLOAT, FLOAT16, BF16, DOUBLE.
template <class T> __device__ __forceinline__ T load_as(DataType dtype, const void* from, int64_t index) {
  switch (dtype) {
    case DataType::kFloat:
      return widen<T>(static_cast<const float*>(from)[index]);
    case DataType::kFloat16:
      return widen<T>(static_cast<const float16*>(from)[index]);
    case DataType::kBfloat16:
      return widen<T>(static_cast<const bfloat16*>(from)[index]);
    default:
      return widen<T>(static_cast<const double*>(from)[index]);
  }
}

// The way back: those and the complex dtypes, whose imaginary part is 0.
template <class T> __device__ __forceinline__ void store_as(T x, DataType dtype, void* to, int64_t index) {
  const auto store = [&]<class Part>(Part part, int parts) {
    Part* const at = static_cast<Part*>(to) + index * parts;
    at[0] = part;
    if (parts == 2) at[1] = Part{};
  };
  switch (dtype) {
    case DataType::kFloat:
      return store(narrow<float>(x), 1);
    case DataType::kFloat16:
      return store(narrow<float16>(x), 1);
    case DataType::kBfloat16:
      return store(narrow<bfloat16>(x), 1);
    case DataType::kDouble:
      return store(narrow<double>(x), 1);
    case DataType::kComplex32:
      return store(narrow<float16>(x), 2);
    case DataType::kComplex64:
      return store(narrow<float>(x), 2);
    default:
      return store(narrow<double>(x), 2);
  }
}

// x as an element of the dtype holds it.
template <class T> __device__ __forceinline__ T round_to(DataType dtype, T x) {
  switch (dtype) {
    case DataType::kFloat:
      return widen<T>(narrow<float>(x));
    case DataType::kFloat16:
      return widen<T>(narrow<float16>(x));
    case DataType::kBfloat16:
      return widen<T>(narrow<bfloat16>(x));
    default:
      return x;
  }
}

__device__ __forceinline__ int64_t load_index(DataType dtype, const void* from, int64_t index) {
  switch (dtype) {
    case DataType::kInt32:
      return static_cast<const int32_t*>(from)[index];
    case DataType::kUint8:
      return static_cast<const uint8_t*>(from)[index];
    default:
      return static_cast<const int64_t*>(from)[index];
  }
}

}  // namespace descend::cuda
