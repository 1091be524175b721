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

#include <algorithm>
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

// Where the elements of a part of a row come from.  The same for every row, so a thread keeps it from row to row.
//
// The sources of neighbours are close to each other: mostly the elements of 16 bytes come from some 16 bytes, and are
// put in their places by one instruction, whatever the factor.
template <class Bits> class Places {
 public:
  // For elements [first, first + width) of a row, at most kTile, whose sources are `source(i)` of `inputs` elements
  // that lie `stride` apart.
  template <class Source> void set(int64_t first, int64_t width, int64_t inputs, int64_t stride, const Source& source) {
    if (first_ == first && width_ == width) return;
    first_ = first;
    width_ = width;
    for (int64_t i = 0; i < width; ++i) element_[i] = source(first + i) * stride;
    repeat_ = 0;
    for (const int k : {1, 2, 4}) {
      int64_t i = 0;
      while (i < width && element_[i] == element_[0] + i / k) ++i;
      if (i == width) repeat_ = k;
    }
    set_vectors(inputs, stride);
  }

  // Writes the part of each row, whose elements are `stride` apart.
  void fill(const Rows<Bits>& rows, int64_t stride) const {
    if (stride == 1 && (vectors_ == 0 || width_ * sizeof(Bits) % kCacheLine == 0)) {
      if (repeat_ == 1) return repeat_each<1>(rows, element_[0], width_);
      if (repeat_ == 2) return repeat_each<2>(rows, element_[0], width_);
      if (repeat_ == 4) return repeat_each<4>(rows, element_[0], width_);
    }
    if (stride == 1 && vectors_ > 0) return fill_vectors(rows);
    rows.for_each([&](const Bits* row, Bits* to, Bits* next) {
      for (int64_t i = 0; i < width_; ++i) to[i * stride] = row[element_[i]];
      if (!next) return;
      for (int64_t i = 0; i < width_; ++i) next[i * stride] = row[element_[i]];
    });
  }

 private:
#if HWY_TARGET == HWY_SCALAR
  void set_vectors(int64_t, int64_t) {}
  void fill_vectors(const Rows<Bits>&) const {}
#else
  static constexpr int64_t kLanes = 16 / sizeof(Bits);

  void set_vectors(int64_t inputs, int64_t stride) {
    vectors_ = stride == 1 && inputs >= kLanes && width_ >= kLanes ? (width_ - 1) / kLanes + 1 : 0;
    for (int64_t v = 0; v < vectors_; ++v) {
      const int64_t* const elements = element_ + std::min(v * kLanes, width_ - kLanes);
      base_[v] = std::min(elements[0], inputs - kLanes);
      for (int64_t i = 0; i < kLanes; ++i) {
        const int64_t lane = elements[i] - base_[v];
        if (lane < 0 || lane >= kLanes) return void(vectors_ = 0);
        for (size_t byte = 0; byte < sizeof(Bits); ++byte)
          byte_[v][static_cast<size_t>(i) * sizeof(Bits) + byte] =
              static_cast<uint8_t>(static_cast<size_t>(lane) * sizeof(Bits) + byte);
      }
    }
  }
  HWY_NOINLINE void fill_vectors(const Rows<Bits> rows) const {
    rows.for_each([base = base_, byte = byte_[0], vectors = vectors_, width = width_](
                      const Bits* row, Bits* to, Bits* next) { place(row, base, byte, vectors, width, to, next); });
  }
  static HWY_NOINLINE void place(const Bits* row, const int64_t* base, const uint8_t* byte, int64_t vectors,
                                 int64_t width, Bits* to, Bits* next) {
    const hn::FixedTag<uint8_t, 16> d;
    const auto placed = [=](int64_t v) HWY_ATTR {
      return hn::TableLookupBytes(hn::LoadU(d, reinterpret_cast<const uint8_t*>(row + base[v])),
                                  hn::LoadU(d, byte + 16 * v));
    };
    const auto at = [](Bits* elements) { return reinterpret_cast<uint8_t*>(elements); };
    int64_t v = 0;
    for (; (v + 4) * kLanes <= width; v += 4) {
      const auto a = placed(v), b = placed(v + 1), c = placed(v + 2), e = placed(v + 3);
      store_line(a, b, c, e, d, at(to + v * kLanes));
      if (next) store_line(a, b, c, e, d, at(next + v * kLanes));
    }
    for (; v < vectors; ++v) {  // the last one may reach back into the one before it
      const int64_t i = std::min(v * kLanes, width - kLanes);
      const auto a = placed(v);
      hn::StoreU(a, d, at(to + i));
      if (next) hn::StoreU(a, d, at(next + i));
    }
  }

  int64_t base_[kTile / kLanes];
  uint8_t byte_[kTile / kLanes][16];
#endif

  int64_t first_ = -1, width_ = 0, vectors_ = 0;
  int repeat_ = 0;
  int64_t element_[kTile];
};

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
