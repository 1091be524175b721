// SPDX-License-Identifier: MIT
// Which elements of the input a part of the rows of an upsampled volume consists of.  Compiled once per SIMD target.
#if defined(DESCEND_OPS_UPSAMPLE_NEAREST3D_PLACES_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_UPSAMPLE_NEAREST3D_PLACES_CPU_INL_H
#undef DESCEND_OPS_UPSAMPLE_NEAREST3D_PLACES_CPU_INL_H
#else
#define DESCEND_OPS_UPSAMPLE_NEAREST3D_PLACES_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "ops/upsample_nearest3d/upsample_nearest3d_rows_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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
