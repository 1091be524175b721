// SPDX-License-Identifier: MIT
// Sums of boxes of gradOut, where the elements of a row have boxes of different widths.  Compiled once per SIMD target.
#if defined(DESCEND_OPS_UPSAMPLE_NEAREST3D_UNEVEN_SUMS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_UPSAMPLE_NEAREST3D_UNEVEN_SUMS_CPU_INL_H
#undef DESCEND_OPS_UPSAMPLE_NEAREST3D_UNEVEN_SUMS_CPU_INL_H
#else
#define DESCEND_OPS_UPSAMPLE_NEAREST3D_UNEVEN_SUMS_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/upsample_nearest3d/upsample_nearest3d_sums_cpu-inl.h"
#include "src/loops/boxes.h"
#include "src/loops/convert_cpu-inl.h"
#include "src/loops/move.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How vectors of sums find their terms where a box has one or two: in the two vectors that begin with the first sum's
// first term.  Of each sum's first and second term, the bytes of it in the one vector and in the other; Highway answers
// 0 for bytes that are in neither.
template <class T> struct PairPlaces {
  static constexpr int64_t kLanes = 16 / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kSpan = 2 * kLanes;
  HWY_ALIGN uint8_t byte[2][2][16];

  // Of sums whose terms are [edge[i], edge[i + 1]).
  void set(const int64_t* edge) {
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t vector = 0; vector < 2; ++vector)
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t lane = i / static_cast<int64_t>(sizeof(T)), term = edge[lane] + j;
          const int64_t at = term - edge[0] - vector * kLanes;
          const bool there = term < edge[lane + 1] && 0 <= at && at < kLanes;
          byte[j][vector][i] = there ? static_cast<uint8_t>(at * sizeof(T) + i % sizeof(T)) : 0x80;
        }
  }
};

#if HWY_TARGET != HWY_SCALAR
// The sums of a vector's boxes; from is where the first one's terms begin.
template <class T, class Element>
HWY_INLINE void sum_places(const Element* from, Owned depth, Owned height, const PairPlaces<T>& places, T* sum) {
  const hn::Full128<T> d;
  const hn::Full128<uint8_t> bytes;
  const auto first_a = hn::Load(bytes, places.byte[0][0]), first_b = hn::Load(bytes, places.byte[0][1]);
  const auto second_a = hn::Load(bytes, places.byte[1][0]), second_b = hn::Load(bytes, places.byte[1][1]);
  auto s = hn::Zero(d);
  for (int64_t z = 0; z < depth.count; ++z)
    for (int64_t y = 0; y < height.count; ++y) {
      const Element* at = from + z * depth.stride + y * height.stride;
      const auto a = hn::BitCast(bytes, load_as(d, at)), b = hn::BitCast(bytes, load_as(d, at + PairPlaces<T>::kLanes));
      const auto first = hn::Or(hn::TableLookupBytesOr0(a, first_a), hn::TableLookupBytesOr0(b, first_b));
      const auto second = hn::Or(hn::TableLookupBytesOr0(a, second_a), hn::TableLookupBytesOr0(b, second_b));
      s = hn::Add(hn::Add(s, hn::BitCast(d, first)), hn::BitCast(d, second));
    }
  hn::Store(s, d, sum);
}
// The first n sums of a row, n a multiple of the vector's.
template <class T, class Element>
HWY_NOINLINE void sum_pairs(const Element* row, Owned depth, Owned height, const PairPlaces<T>* places,
                            const int64_t* edge, int64_t n, T* sum) {
  for (int64_t i = 0; i < n; i += PairPlaces<T>::kLanes)
    sum_places(row + edge[i], depth, height, places[i / PairPlaces<T>::kLanes], sum + i);
}
#endif

inline constexpr int64_t kTermRows = 8;  // of gradOut, that are added at a time

// What a thread works in.
template <class T, class Element> struct SumBuffers {
  int64_t table_first = -1, table_width = 0, table_stride = 0;
  int64_t widest = 0;       // box of the row
  int64_t edge[kTile + 1];  // element i of the row owns terms [edge[i], edge[i + 1]), of which the row's first is 0
  int64_t in_pairs = 0;     // the first elements, whose terms are found by these
  PairPlaces<T> places[kTile / PairPlaces<T>::kLanes];
  HWY_ALIGN T sum[kTile];
  HWY_ALIGN T terms[kTermRows][kTile];
  HWY_ALIGN Element raw[kTile];  // terms before they are converted, results before they are scattered

  // Terms [first, first + count) of a row, at most kTile: where they are, or in `to`.
  const T* load(const Element* row, int64_t stride, int64_t first, int64_t count, T* to) {
    const Element* source = row + first * stride;
    if (stride != 1) {
      gather(axes_of(1, &count, &stride), sizeof(Element), source, raw);
      source = raw;
    }
    if constexpr (std::is_same_v<T, Element>) {
      if (stride == 1) return source;
    }
    load_run<T, Element>(source, count, to);
    return to;
  }
};

// Adds to sum[k] the terms edge[k] to edge[k + 1] of some rows, of each `most` at most: terms[0] is the first row's
// term edge[0], and the others lie so far from it.  There is no branch on how many there are: what is not there is
// added as 0, which changes no sum, for none is -0.
template <int most, class T>
HWY_NOINLINE void add_narrow(const T* terms, const int64_t* distance, int64_t rows, const int64_t* edge, int64_t n,
                             T* sum) {
  static constexpr T kNone = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t begin = edge[k] - edge[0], count = edge[k + 1] - edge[k];
    const T* at[most];
    int64_t advance[most];
    for (int j = 0; j < most; ++j) {
      at[j] = j < count ? terms + begin + j : &kNone;
      advance[j] = j < count ? -1 : 0;
    }
    T s = sum[k];
    for (int64_t r = 0; r < rows; ++r)
      for (int j = 0; j < most; ++j) s += at[j][distance[r] & advance[j]];
    sum[k] = s;
  }
}
template <int most, class T, class Element>
void add_rows(const Element* from, const int64_t* row, int64_t rows, int64_t stride, int64_t i, int64_t n,
              SumBuffers<T, Element>& b) {
  constexpr int64_t kStep = kTile / most;
  for (; i < n; i += kStep) {
    const int64_t end = std::min(i + kStep, n), first = b.edge[i], count = b.edge[end] - first;
    if (count == 0) continue;
    const T* const terms = b.load(from + row[0], stride, first, count, b.terms[0]);
    int64_t distance[kTermRows] = {0};
    for (int64_t r = 1; r < rows; ++r) distance[r] = b.load(from + row[r], stride, first, count, b.terms[r]) - terms;
    add_narrow<most>(terms, distance, rows, b.edge + i, end - i, b.sum + i);
  }
}

// Of one row, with boxes of any width.
template <class T, class Element>
HWY_NOINLINE void add_wide(const Element* row, int64_t stride, int64_t n, SumBuffers<T, Element>& b) {
  int64_t i = 0;
  for (int64_t first = b.edge[0]; first < b.edge[n]; first += kTile) {
    const int64_t count = std::min(kTile, b.edge[n] - first);
    const T* const terms = b.load(row, stride, first, count, b.terms[0]);
    for (int64_t j = 0; j < count; ++i) {
      const int64_t stop = std::min(b.edge[i + 1] - first, count);
      T sum = b.sum[i];
      for (; j < stop; ++j) sum += terms[j];
      b.sum[i] = sum;
      if (stop == count) break;  // more of its terms may follow
    }
  }
}

// Adds to sums [i, n) the terms of rows that lie row[r] after `from`.
template <class T, class Element>
void add_rows(const Element* from, const int64_t* row, int64_t rows, int64_t stride, int64_t i, int64_t n,
              SumBuffers<T, Element>& b) {
  if (b.widest <= 1) return add_rows<1>(from, row, rows, stride, i, n, b);
  if (b.widest == 2) return add_rows<2>(from, row, rows, stride, i, n, b);
  if (b.widest == 3) return add_rows<3>(from, row, rows, stride, i, n, b);
  for (int64_t r = 0; r < rows; ++r) add_wide(from + row[r], stride, n, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
