// SPDX-License-Identifier: MIT
// Writing the rows of an upsampled volume.  Elements are moved as bits, so that only their size matters.  Compiled once
// per SIMD target.
//
// It mostly writes.  A Neoverse N1 writes whole lines without reading them first as long as nothing else is written in
// between, not even to the stack: 36 GB/s a core, and 3.9 with eight words on the stack for every 1024 bytes.  So one
// loop goes over all planes and rows of a block, with no more in it than the registers hold.
#if defined(DESCEND_OPS_UPSAMPLE_NEAREST3D_ROWS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_UPSAMPLE_NEAREST3D_ROWS_CPU_INL_H
#undef DESCEND_OPS_UPSAMPLE_NEAREST3D_ROWS_CPU_INL_H
#else
#define DESCEND_OPS_UPSAMPLE_NEAREST3D_ROWS_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "src/loops/boxes.h"
#include "src/loops/store_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Neighbours on an axis of the output that come from one place: `from` elements after the first of the input's axis.
struct Run {
  int64_t from, count;
};

// The runs that a block consists of on one axis.  Mostly the same for every block, so a thread keeps them.
class Runs {
 public:
  // For indices [first, first + n), at most kTile, that come from source(i), which lie `stride` elements apart.
  template <class Source> void set(int64_t first, int64_t n, int64_t stride, const Source& source) {
    if (first_ == first && n_ == n && stride_ == stride) return;
    first_ = first, n_ = n, stride_ = stride;
    end_ = run_;
    int64_t last = -1;
    for (int64_t i = first; i < first + n; ++i) {
      if (const int64_t from = source(i); from != last) *end_++ = {(last = from) * stride, 0};
      ++end_[-1].count;
    }
  }
  const Run* begin() const { return run_; }
  const Run* end() const { return end_; }

 private:
  int64_t first_ = -1, n_ = 0, stride_ = 0;
  Run run_[kTile];
  Run* end_ = run_;
};

// Runs, and how far apart what they consist of lies in the output.
struct Along {
  const Run *begin, *end;
  int64_t stride;
};

// Rows of planes, or the same part of each.
template <class Bits> struct Rows {
  const Bits* from;  // row 0 of plane 0
  Bits* to;          // the first row
  Along depth, height;

  // Calls write(source row, row, next row), the next row null unless it has the same source.
  template <class Write> HWY_INLINE void for_each(const Write& write) const {
    Bits* plane = to;
    for (const Run* z = depth.begin; z < depth.end; ++z)
      for (int64_t planes = z->count; planes > 0; --planes, plane += depth.stride) {
        const Bits* const source = from + z->from;
        Bits* row = plane;
        for (const Run* y = height.begin; y < height.end; ++y)
          for (int64_t rows = y->count; rows > 0; rows -= 2) {
            Bits* const next = row + height.stride;
            write(source + y->from, row, rows > 1 ? next : nullptr);
            row = rows > 1 ? next + height.stride : next;
          }
      }
  }
};

#if HWY_TARGET != HWY_SCALAR
template <class Bits> using Lanes16 = hn::FixedTag<Bits, 16 / sizeof(Bits)>;
template <class Bits> inline constexpr int64_t kLine = kCacheLine / static_cast<int64_t>(sizeof(Bits));  // elements

template <class D>
HWY_INLINE void store_line(hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, hn::Vec<D> e, D d, hn::TFromD<D>* to) {
  store_pair(a, b, d, to);
  store_pair(c, e, d, to + 2 * hn::Lanes(d));
}

// A line of two rows, or of one: each element of the source k times.
template <int k, class Bits> HWY_INLINE void repeat_line(const Bits* from, Bits* to, Bits* next) {
  const Lanes16<Bits> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::LoadU(d, from), b = a, c = a, e = a;
  if constexpr (k == 1) {
    b = hn::LoadU(d, from + lanes), c = hn::LoadU(d, from + 2 * lanes), e = hn::LoadU(d, from + 3 * lanes);
  } else {
    const auto second = k == 2 ? hn::LoadU(d, from + lanes) : hn::InterleaveUpper(d, a, a);
    const auto first = k == 2 ? a : hn::InterleaveLower(d, a, a);
    a = hn::InterleaveLower(d, first, first), b = hn::InterleaveUpper(d, first, first);
    c = hn::InterleaveLower(d, second, second), e = hn::InterleaveUpper(d, second, second);
  }
  store_line(a, b, c, e, d, to);
  if (next) store_line(a, b, c, e, d, next);
}
#endif

// Rows of n elements, each element of the source k times.
template <int k, class Bits> HWY_NOINLINE void repeat_each(const Rows<Bits> rows, int64_t first, int64_t n) {
  rows.for_each([=](const Bits* row, Bits* to, Bits* next) HWY_ATTR {
    row += first;
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; i + kLine<Bits> <= n; i += kLine<Bits>) repeat_line<k>(row + i / k, to + i, next ? next + i : nullptr);
#endif
    for (; i < n; ++i) {
      to[i] = row[i / k];
      if (next) next[i] = row[i / k];
    }
  });
}

// A row whose elements are `channels` neighbours.
template <class Bits> HWY_NOINLINE void copy_channels(const Bits* row, const Along& width, int64_t channels, Bits* to) {
  for (const Run* x = width.begin; x < width.end; ++x) {
    const Bits* const from = row + x->from;
    int64_t left = x->count;
#if HWY_TARGET != HWY_SCALAR
    // A line each, which the loops below would take longer to see.
    for (; channels == kLine<Bits> && left > 0; --left, to += width.stride) repeat_line<1, Bits>(from, to, nullptr);
#endif
    for (; left > 0; --left, to += width.stride) {
      int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
      const Lanes16<Bits> d;
      constexpr int64_t lanes = kLine<Bits> / 4;
      for (; c + kLine<Bits> <= channels; c += kLine<Bits>) repeat_line<1, Bits>(from + c, to + c, nullptr);
      if (c == channels) continue;
      for (; c + lanes <= channels; c += lanes) hn::StoreU(hn::LoadU(d, from + c), d, to + c);
#endif
      for (; c < channels; ++c) to[c] = from[c];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
