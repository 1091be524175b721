// SPDX-License-Identifier: MIT
// Sums of boxes of gradOut, where each element of a row has as many neighbours of its own, or vectors lie along the
// channels.  Compiled once per SIMD target.
#if defined(DESCEND_OPS_UPSAMPLE_NEAREST3D_SUMS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_UPSAMPLE_NEAREST3D_SUMS_CPU_INL_H
#undef DESCEND_OPS_UPSAMPLE_NEAREST3D_SUMS_CPU_INL_H
#else
#define DESCEND_OPS_UPSAMPLE_NEAREST3D_SUMS_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "src/loops/convert_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What an input index owns on one axis of gradOut, and how far apart that lies.
struct Owned {
  int64_t first, count, stride;
};

// Sums of the same kind, and how far the next ones are from the last in gradOut and in what is written.
struct Repeated {
  int64_t count, from, to;
};

// The sum so far of each lane, and of the k neighbours from lane * k on.
template <int k, class D, class Element>
HWY_INLINE hn::Vec<D> add_neighbours(D d, hn::Vec<D> sum, const Element* from) {
#if HWY_TARGET == HWY_SCALAR
  for (int j = 0; j < k; ++j) sum = hn::Add(sum, load_as(d, from + j));
  return sum;
#else
  const size_t lanes = hn::Lanes(d);
#if HWY_TARGET == HWY_NEON
  // Of two neighbours in 32 bits the first has to be shifted, of the second the rest has to go: no more than widening.
  if constexpr (k > 1 && std::is_same_v<Element, bfloat16> && hn::MaxLanes(d) == 4) {
    const hn::Full128<uint32_t> u32;
    const auto* pairs = reinterpret_cast<const uint16_t*>(from);
    const auto load = [&](size_t i)
                          HWY_ATTR { return hn::BitCast(u32, hn::LoadU(hn::Full128<uint16_t>(), pairs + i)); };
    const auto first = [&](auto v) HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<16>(v)); };
    const auto second = [&](auto v) HWY_ATTR { return hn::BitCast(d, hn::And(v, hn::Set(u32, 0xffff0000))); };
    const auto a = load(0);
    if constexpr (k == 2) return hn::Add(hn::Add(sum, first(a)), second(a));
    const auto b = load(8);
    const auto low = hn::ConcatEven(u32, b, a), high = hn::ConcatOdd(u32, b, a);
    sum = hn::Add(hn::Add(sum, first(low)), second(low));
    return hn::Add(hn::Add(sum, first(high)), second(high));
  }
#endif
  if constexpr (k == 4 && std::is_same_v<Element, hn::TFromD<D>>) {  // one instruction of Arm parts them
    auto a = sum, b = sum, c = sum, e = sum;
    hn::LoadInterleaved4(d, from, a, b, c, e);
    return hn::Add(hn::Add(hn::Add(hn::Add(sum, a), b), c), e);
  }
  const auto a = load_as(d, from);
  if constexpr (k == 1) return hn::Add(sum, a);
  const auto b = load_as(d, from + lanes);
  const auto even = hn::ConcatEven(d, b, a), odd = hn::ConcatOdd(d, b, a);
  if constexpr (k == 2) return hn::Add(hn::Add(sum, even), odd);
  const auto c = load_as(d, from + 2 * lanes), e = load_as(d, from + 3 * lanes);
  const auto next_even = hn::ConcatEven(d, e, c), next_odd = hn::ConcatOdd(d, e, c);
  sum = hn::Add(sum, hn::ConcatEven(d, next_even, even));
  sum = hn::Add(sum, hn::ConcatEven(d, next_odd, odd));
  sum = hn::Add(sum, hn::ConcatOdd(d, next_even, even));
  return hn::Add(sum, hn::ConcatOdd(d, next_odd, odd));
#endif
}

// Elements to[i, n), as far as they fill m vectors of D at a time, whose sums do not wait for each other: element i is
// the sum of the k neighbours from k * i on, on each row.  Answers the first that is left.
template <int k, int m, class D, class Element>
HWY_INLINE int64_t sum_neighbour_vectors(D d, const Element* from, Owned depth, Owned height, int64_t i, int64_t n,
                                         Element* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + m * lanes <= n; i += m * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y) {
        const Element* at = from + z * depth.stride + y * height.stride + k * i;
        a = add_neighbours<k>(d, a, at);
        if constexpr (m > 1) b = add_neighbours<k>(d, b, at + k * lanes);
        if constexpr (m > 2) c = add_neighbours<k>(d, c, at + 2 * k * lanes);
        if constexpr (m > 2) e = add_neighbours<k>(d, e, at + 3 * k * lanes);
      }
    if constexpr (m == 1) store_as(a, d, to + i);
    if constexpr (m > 1) store_two(a, b, d, to + i);
    if constexpr (m > 2) store_two(c, e, d, to + i + 2 * lanes);
  }
  return i;
}
template <class T, int k, class Element>
HWY_INLINE void sum_neighbours(const Element* from, const Owned& depth, const Owned& height, int64_t n, Element* to) {
  const hn::ScalableTag<T> d;
  int64_t i = sum_neighbour_vectors<k, 4>(d, from, depth, height, 0, n, to);
  i = sum_neighbour_vectors<k, 2>(d, from, depth, height, i, n, to);
  i = sum_neighbour_vectors<k, 1>(d, from, depth, height, i, n, to);
#if HWY_TARGET != HWY_SVE_256  // where Highway 1.0.3's ConcatEven and ConcatOdd take any vector for a full one
  i = sum_neighbour_vectors<k, 1>(hn::CappedTag<T, 16 / sizeof(T)>(), from, depth, height, i, n, to);
#endif
  const hn::CappedTag<T, 1> one;  // loads a half type faster than a scalar does
  for (; i < n; ++i) {
    auto sum = hn::Zero(one);
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int j = 0; j < k; ++j)
          sum = hn::Add(sum, load_as(one, from + z * depth.stride + y * height.stride + k * i + j));
    store_as(sum, one, to + i);
  }
}

template <class T, int k, class Element>
HWY_NOINLINE void sum_neighbours(const Element* from, Owned depth, Owned height, Repeated rows, int64_t n,
                                 Element* to) {
  for (; rows.count > 0; --rows.count, from += rows.from, to += rows.to)
    sum_neighbours<T, k>(from, depth, height, n, to);
}

// Elements to[i, n), as far as they fill vectors of D, of channels that lie next to each other in gradOut.
template <class D, class Element>
HWY_INLINE int64_t sum_channel_vectors(D d, const Element* from, Owned depth, Owned height, Owned width, int64_t i,
                                       int64_t n, Element* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int64_t x = 0; x < width.count; ++x)
          sum = hn::Add(sum, load_as(d, from + z * depth.stride + y * height.stride + x * width.stride + i));
    store_as(sum, d, to + i);
  }
  return i;
}
template <class T, class Element>
HWY_INLINE void sum_channels(const Element* from, const Owned& depth, const Owned& height, const Owned& width,
                             int64_t n, Element* to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int64_t x = 0; x < width.count; ++x) {
          const Element* at = from + z * depth.stride + y * height.stride + x * width.stride + i;
          a = hn::Add(a, load_of_two<0>(d, at));
          b = hn::Add(b, load_of_two<1>(d, at));
          c = hn::Add(c, load_of_two<0>(d, at + 2 * lanes));
          e = hn::Add(e, load_of_two<1>(d, at + 2 * lanes));
        }
    store_two(a, b, d, to + i);
    store_two(c, e, d, to + i + 2 * lanes);
  }
  i = sum_channel_vectors(d, from, depth, height, width, i, n, to);
  i = sum_channel_vectors(hn::CappedTag<T, 16 / sizeof(T)>(), from, depth, height, width, i, n, to);
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int64_t x = 0; x < width.count; ++x)
          sum += widen<T>(from[z * depth.stride + y * height.stride + x * width.stride + i]);
    to[i] = narrow<Element>(sum);
  }
}
template <class T, class Element>
HWY_NOINLINE void sum_channels(const Element* from, Owned depth, Owned height, Owned width, Repeated places, int64_t n,
                               Element* to) {
  for (; places.count > 0; --places.count, from += places.from, to += places.to)
    sum_channels<T>(from, depth, height, width, n, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
