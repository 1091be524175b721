// SPDX-License-Identifier: MIT
// Elements in memory <-> the type a kernel computes in (float or double).  Compiled once per SIMD target.  Everything
// rounds to nearest even, keeps subnormals and keeps a NaN a NaN.
//
//   load_as(d, from)     a vector of elements as a vector of d's type; float from float16 and bfloat16, or the type
//   itself store_as(v, d, to)   the way back loader<T>(dtype)     the function that converts a run of elements to T:
//   FLOAT, FLOAT16, BF16, DOUBLE storer<T>(dtype)     the function that converts a run of T to elements: those and
//   COMPLEX32, COMPLEX64, COMPLEX128 rounder<T>(dtype)    the function that rounds a run of T to what the dtype can
//   hold; null when T holds no more
//
// loader and storer return null for any other dtype.
#if defined(DESCEND_LOOPS_CONVERT_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_CONVERT_CPU_INL_H
#undef DESCEND_LOOPS_CONVERT_CPU_INL_H
#else
#define DESCEND_LOOPS_CONVERT_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "src/base/dtype.h"
#include "src/base/round_to_odd.h"
#include "src/loops/store_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D> using VectorOf = hn::Vec<D>;

// One vector, from and to the compute type itself.
template <class D> HWY_INLINE VectorOf<D> load_as(D d, const hn::TFromD<D>* from) { return hn::LoadU(d, from); }
template <class D> HWY_INLINE void store_as(VectorOf<D> v, D d, hn::TFromD<D>* to) { hn::StoreU(v, d, to); }
template <class D>
requires std::is_same_v < hn::TFromD<D>,
double > HWY_INLINE VectorOf<D> load_as(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}

#if HWY_TARGET == HWY_SCALAR
// Highway's scalar conversions truncate.
template <class D> HWY_INLINE VectorOf<D> load_as(D d, const float16* from) { return hn::Set(d, float(*from)); }
template <class D> HWY_INLINE VectorOf<D> load_as(D d, const bfloat16* from) { return hn::Set(d, float(*from)); }
template <class D> HWY_INLINE void store_as(VectorOf<D> v, D, float16* to) { *to = float16::from(v.raw); }
template <class D> HWY_INLINE void store_as(VectorOf<D> v, D, bfloat16* to) { *to = bfloat16::from(v.raw); }
#else
// The processors' own float16 conversions round to nearest even and keep subnormals.
template <class D> HWY_INLINE VectorOf<D> load_as(D d, const float16* from) {
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}
template <class D> HWY_INLINE void store_as(VectorOf<D> v, D, float16* to) {
  const hn::Rebind<hwy::float16_t, D> half;
  hn::StoreU(hn::DemoteTo(half, v), half, reinterpret_cast<hwy::float16_t*>(to));
}
template <class D> HWY_INLINE VectorOf<D> load_as(D d, const bfloat16* from) {
  const hn::RebindToUnsigned<D> u32;
  const hn::Rebind<uint16_t, D> u16;
#if HWY_TARGET == HWY_NEON  // one instruction, on either pipe; widening and shifting are two on one of them
  if constexpr (hn::MaxLanes(d) == 4) {
    const hn::Full128<uint16_t> both;
    const auto loaded = hn::ZeroExtendVector(both, hn::LoadU(u16, reinterpret_cast<const uint16_t*>(from)));
    return hn::BitCast(d, hn::InterleaveLower(both, hn::Zero(both), loaded));
  }
#endif
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(u16, reinterpret_cast<const uint16_t*>(from)))));
}
// bfloat16::from on vectors (Highway's own conversion truncates); the result is in the upper half of each lane.
template <class D> HWY_INLINE auto rounded_to_bfloat16(VectorOf<D> v, D) {
  const hn::RebindToUnsigned<D> u32;
  const auto bits = hn::BitCast(u32, v);
  const auto odd = hn::ShiftRight<16>(hn::And(bits, hn::Set(u32, 0x10000)));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(u32, 0x7fff)), odd);
  return hn::IfThenElse(hn::RebindMask(u32, hn::Eq(v, v)), rounded, hn::Set(u32, 0x7fff0000));
}
template <class D> HWY_INLINE void store_as(VectorOf<D> v, D d, bfloat16* to) {
  const hn::RebindToSigned<D> i32;
  const hn::Rebind<uint16_t, D> u16;
  const auto bits = hn::ShiftRight<16>(rounded_to_bfloat16(v, d));
  hn::StoreU(hn::DemoteTo(u16, hn::BitCast(i32, bits)), u16, reinterpret_cast<uint16_t*>(to));
}
#endif

// Two vectors of neighbours: the first (0) or the second (1) of those that begin at `from`, and both to `to`.
template <int which, class D, class Element> HWY_INLINE VectorOf<D> load_of_two(D d, const Element* from) {
#if HWY_TARGET == HWY_NEON
  if constexpr (std::is_same_v<Element, bfloat16>) {
    // One load and one instruction a vector; widening and shifting, as above, are two on half of the pipes.
    const hn::Full128<uint16_t> u16;
    const auto both = hn::LoadU(u16, reinterpret_cast<const uint16_t*>(from));
    if constexpr (which == 0) return hn::BitCast(d, hn::InterleaveLower(u16, hn::Zero(u16), both));
    return hn::BitCast(d, hn::InterleaveUpper(u16, hn::Zero(u16), both));
  } else
#endif
    return load_as(d, from + which * hn::Lanes(d));
}
template <class D, class Element> HWY_INLINE void store_two(VectorOf<D> a, VectorOf<D> b, D d, Element* to) {
#if HWY_TARGET == HWY_NEON
  if constexpr (std::is_same_v<Element, bfloat16>) {
    const hn::Full128<uint16_t> u16;
    const auto low = hn::BitCast(u16, rounded_to_bfloat16(a, d)), high = hn::BitCast(u16, rounded_to_bfloat16(b, d));
    hn::StoreU(hn::ConcatOdd(u16, high, low), u16, reinterpret_cast<uint16_t*>(to));
    return;
  }
#endif
  if constexpr (std::is_same_v<hn::TFromD<D>, Element>) return store_pair(a, b, d, to);
  store_as(a, d, to);
  store_as(b, d, to + hn::Lanes(d));
}

// One element.
template <class T, class Element> HWY_INLINE T widen(Element x) {
  if constexpr (std::is_arithmetic_v<Element>)
    return static_cast<T>(x);
  else
    return static_cast<T>(static_cast<float>(x));
}
template <class Element, class T> HWY_INLINE Element narrow(T x) {
  if constexpr (std::is_same_v<Element, complex32>)
    return {narrow<float16>(x), {0}};
  else if constexpr (std::is_arithmetic_v<Element> || is_complex(dtype_of<Element>))
    return Element(static_cast<std::conditional_t<std::is_same_v<Element, complex64>, float, T>>(x));
  else if constexpr (std::is_same_v<T, double>)
    return Element::from(round_to_odd(x));  // rounds once: the float keeps that it is inexact
  else
    return Element::from(x);
}

// Whether a vector of T is made from, and becomes, a vector of elements in registers.
template <class T, class Element>
inline constexpr bool kInRegisters = std::is_same_v<T, Element> ||
                                     (std::is_same_v<T, float> &&
                                      (std::is_same_v<Element, float16> || std::is_same_v<Element, bfloat16>));

template <class T> using LoadRun = void (*)(const void* from, int64_t n, T* to);
template <class T> using StoreRun = void (*)(const T* from, int64_t n, void* to);
template <class T> using RoundRun = void (*)(T* run, int64_t n);

template <class T, class Element> HWY_NOINLINE void load_run(const void* from, int64_t n, T* to) {
  const auto* source = static_cast<const Element*>(from);
  int64_t i = 0;
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    // One by one, below.
  } else if constexpr (kInRegisters<T, Element>) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) hn::StoreU(load_as(d, source + i), d, to + i);
  } else if constexpr (std::is_same_v<T, double> && std::is_same_v<Element, float>) {
    const hn::ScalableTag<double> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) hn::StoreU(load_as(d, source + i), d, to + i);
  } else if constexpr (std::is_same_v<T, double>) {
    constexpr int64_t kPiece = 64;
    float piece[kPiece];
    for (; i < n; i += kPiece) {
      const int64_t count = n - i < kPiece ? n - i : kPiece;
      load_run<float, Element>(source + i, count, piece);
      load_run<double, float>(piece, count, to + i);
    }
    return;
  }
  for (; i < n; ++i) to[i] = widen<T>(source[i]);
}

template <class T, class Element> HWY_NOINLINE void store_run(const T* from, int64_t n, void* to) {
  auto* target = static_cast<Element*>(to);
  int64_t i = 0;
  if constexpr (kInRegisters<T, Element>) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) store_as(hn::LoadU(d, from + i), d, target + i);
  }
  for (; i < n; ++i) target[i] = narrow<Element>(from[i]);
}

template <class T, class Element> HWY_NOINLINE void round_run(T* run, int64_t n) {
  constexpr int64_t kPiece = 64;
  Element piece[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = n - i < kPiece ? n - i : kPiece;
    store_run<T, Element>(run + i, count, piece);
    load_run<T, Element>(piece, count, run + i);
  }
}

template <class T> LoadRun<T> loader(DataType dtype) {
  LoadRun<T> function = nullptr;
  visit(Dtypes<float, float16, bfloat16, double>{}, dtype, [&]<class Element> { function = load_run<T, Element>; });
  return function;
}
template <class T> StoreRun<T> storer(DataType dtype) {
  StoreRun<T> function = nullptr;
  const auto take = [&]<class Element> { function = store_run<T, Element>; };
  visit(Dtypes<float, float16, bfloat16, double>{}, dtype, take) || visit(Complexes{}, dtype, take);
  return function;
}
template <class T> RoundRun<T> rounder(DataType dtype) {
  RoundRun<T> function = nullptr;
  visit(Dtypes<float, float16, bfloat16>{}, dtype, [&]<class Element> {
    if constexpr (!std::is_same_v<Element, T>) function = round_run<T, Element>;
  });
  return function;
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
