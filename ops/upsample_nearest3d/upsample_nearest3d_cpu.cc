// SPDX-License-Identifier: MIT
// The nearest upsampling on the CPU.  Elements are moved as bits, so that only their size matters.
//
// It mostly writes.  A Neoverse N1 writes whole lines without reading them first as long as nothing else is written in
// between, not even to the stack: 36 GB/s a core, and 3.9 with eight words on the stack for every 1024 bytes.  So the
// loops over many rows are leaf functions that keep everything in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/upsample_nearest3d/upsample_nearest3d_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/upsample_nearest3d/upsample_nearest3d_cpu-inl.h"
#include "src/loops/store_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// The 64 bytes of a row that begin with element i, where each element is repeated k times.
template <int k, class Bits, class D = hn::FixedTag<Bits, 16 / sizeof(Bits)>>
HWY_INLINE void repeated(const Bits* row, int64_t i, hn::Vec<D>& a, hn::Vec<D>& b, hn::Vec<D>& c, hn::Vec<D>& e) {
  const D d;
  const Bits* const from = row + i / k;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (k == 1) {
    a = hn::LoadU(d, from), b = hn::LoadU(d, from + lanes);
    c = hn::LoadU(d, from + 2 * lanes), e = hn::LoadU(d, from + 3 * lanes);
  } else if constexpr (k == 2) {
    const auto first = hn::LoadU(d, from), second = hn::LoadU(d, from + lanes);
    a = hn::InterleaveLower(d, first, first), b = hn::InterleaveUpper(d, first, first);
    c = hn::InterleaveLower(d, second, second), e = hn::InterleaveUpper(d, second, second);
  } else {
    const auto all = hn::LoadU(d, from);
    const auto first = hn::InterleaveLower(d, all, all), second = hn::InterleaveUpper(d, all, all);
    a = hn::InterleaveLower(d, first, first), b = hn::InterleaveUpper(d, first, first);
    c = hn::InterleaveLower(d, second, second), e = hn::InterleaveUpper(d, second, second);
  }
}
#endif

// Rows of one plane, or the same part of each.
template <class Bits> struct Rows {
  const Bits* from;  // row 0 of the source
  int64_t from_stride, sources;
  float factor;
  int64_t first, end;  // heights
  Bits* to;            // the first row
  int64_t to_stride;

  // Calls write(source row, row, next row), the next row null unless it has the same source.
  template <class Write> HWY_INLINE void for_each(const Write& write) const {
    const auto source = [this](int64_t h) { return h < end ? upsample_source(h, factor, sources) : -1; };
    Bits* at = to;
    int64_t row = source(first), next = source(first + 1);
    for (int64_t h = first; h < end;) {
      const bool twice = next == row;
      const Bits* const from_row = from + row * from_stride;
      Bits* const to_row = at;
      h += twice ? 2 : 1;
      at += twice ? 2 * to_stride : to_stride;
      row = twice ? source(h) : next;
      next = source(h + 1);
      write(from_row, to_row, twice ? to_row + to_stride : nullptr);
    }
  }
};

// Rows of n elements, each element of the source k times.
template <int k, class Bits> HWY_NOINLINE void repeat_each(const Rows<Bits> rows, int64_t first, int64_t n) {
  rows.for_each([=](const Bits* row, Bits* to, Bits* next) HWY_ATTR {
    row += first;
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::FixedTag<Bits, 16 / sizeof(Bits)> d;
    constexpr int64_t kLanes = 16 / sizeof(Bits);
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      auto a = hn::Zero(d), b = a, c = a, e = a;
      repeated<k>(row, i, a, b, c, e);
      store_pair(a, b, d, to + i);
      store_pair(c, e, d, to + i + 2 * kLanes);
      if (!next) continue;
      store_pair(a, b, d, next + i);
      store_pair(c, e, d, next + i + 2 * kLanes);
    }
#endif
    for (; i < n; ++i) {
      to[i] = row[i / k];
      if (next) next[i] = row[i / k];
    }
  });
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
    if (stride == 1 && repeat_ == 1) return repeat_each<1>(rows, element_[0], width_);
    if (stride == 1 && repeat_ == 2) return repeat_each<2>(rows, element_[0], width_);
    if (stride == 1 && repeat_ == 4) return repeat_each<4>(rows, element_[0], width_);
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
      const int64_t* const elements = element_ + begin(v);
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
    rows.for_each([this](const Bits* row, Bits* to, Bits* next) HWY_ATTR {
      const hn::FixedTag<uint8_t, 16> d;
      for (int64_t v = 0; v < vectors_; ++v) {
        const auto from = hn::LoadU(d, reinterpret_cast<const uint8_t*>(row + base_[v]));
        const auto placed = hn::TableLookupBytes(from, hn::LoadU(d, byte_[v]));
        hn::StoreU(placed, d, reinterpret_cast<uint8_t*>(to + begin(v)));
        if (next) hn::StoreU(placed, d, reinterpret_cast<uint8_t*>(next + begin(v)));
      }
    });
  }
  // The last vector may reach back into the one before it.
  int64_t begin(int64_t v) const { return std::min(v * kLanes, width_ - kLanes); }

  int64_t base_[kTile / kLanes];
  uint8_t byte_[kTile / kLanes][16];
#endif

  int64_t first_ = -1, width_ = 0, vectors_ = 0;
  int repeat_ = 0;
  int64_t element_[kTile];
};

template <class Bits> class Upsampling {
 public:
  Upsampling(const UpsampleNearest3dArgs& a, void* const* data)
      : a_(a), to_(static_cast<Bits*>(data[0])), from_(static_cast<const Bits*>(data[1])) {}

  void operator()() const {
    const bool along_channels = upsample_channels_inside(a_.input);
    const UpsampleBlocks blocks =
        along_channels ? UpsampleBlocks(a_.output, {.channels = a_.output.size[kChannel], .height = 1, .width = kChunk})
                       : UpsampleBlocks(a_.output, {.channels = 1, .height = kChunk, .width = kTile});
    blocks.in_parallel(upsample_elements(a_.output), [&](int64_t begin, int64_t end) {
      Buffers buffers;
      blocks.for_each(begin, end, [&](const UpsampleBlock& block) {
        if (along_channels)
          channels(block);
        else
          rows(block, buffers);
      });
    });
  }

 private:
  // What a thread works in.
  struct Buffers {
    static constexpr int64_t kCopied = kLargeBox / sizeof(Bits);
    Places<Bits> places;
    const Bits* part = nullptr;  // of the source, as neighbours in `copied`
    int64_t extent[2] = {};      // of it
    Bits copied[kCopied];

    // Depths that come from one plane follow each other: it is copied once.
    void copy(const Bits* from, int64_t height, int64_t width, const int64_t* stride) {
      if (from == part && height == extent[0] && width == extent[1]) return;
      part = from, extent[0] = height, extent[1] = width;
      gather(axes_of(2, extent, stride), sizeof(Bits), from, copied);
    }
  };

  int64_t source(int axis, int64_t o) const { return upsample_source(o, a_.factor[axis], a_.input.size[axis]); }
  // The first row of the plane that a block comes from, and the first element of the block.
  const Bits* from(const UpsampleBlock& b) const {
    return from_ + upsample_offset(a_.input, b.first[kBatch], b.first[kChannel], source(kDepth, b.first[kDepth]), 0, 0);
  }
  Bits* to(const UpsampleBlock& b) const {
    return to_ + upsample_offset(a_.output, b.first[kBatch], b.first[kChannel], b.first[kDepth], b.first[kHeight],
                                 b.first[kWidth]);
  }

  void channels(const UpsampleBlock& b) const {
    const int64_t read = a_.input.stride[kChannel], write = a_.output.stride[kChannel];
    const Bits* const row = from(b) + source(kHeight, b.first[kHeight]) * a_.input.stride[kHeight];
    Bits* const out = to(b);
    for (int64_t w = 0; w < b.width; ++w) {
      const Bits* element = row + source(kWidth, b.first[kWidth] + w) * a_.input.stride[kWidth];
      Bits* at = out + w * a_.output.stride[kWidth];
      if (read == 1 && write == 1)
        copy_run(element, b.channels, at);
      else
        for (int64_t c = 0; c < b.channels; ++c) at[c * write] = element[c * read];
    }
  }

  void rows(const UpsampleBlock& b, Buffers& buffers) const {
    const Rows<Bits> rows{.from = from(b),
                          .from_stride = a_.input.stride[kHeight],
                          .sources = a_.input.size[kHeight],
                          .factor = a_.factor[kHeight],
                          .first = b.first[kHeight],
                          .end = b.first[kHeight] + b.height,
                          .to = to(b),
                          .to_stride = a_.output.stride[kHeight]};
    const int64_t stride = a_.input.stride[kWidth];
    if (stride != 1) {
      const int64_t left = source(kWidth, b.first[kWidth]);
      const int64_t width = source(kWidth, b.first[kWidth] + b.width - 1) - left + 1;
      if (width <= Buffers::kCopied) return copied_rows(b, rows, left, width, buffers);
    }
    buffers.places.set(b.first[kWidth], b.width, a_.input.size[kWidth], stride,
                       [&](int64_t o) { return source(kWidth, o); });
    buffers.places.fill(rows, a_.output.stride[kWidth]);
  }

  // The same of rows whose elements, `width` of them from column `left` on, are copied to be neighbours: as many rows
  // as there is room for at a time.
  HWY_NOINLINE void copied_rows(const UpsampleBlock& b, Rows<Bits> rows, int64_t left, int64_t width,
                                Buffers& buffers) const {
    const int64_t* const stride = a_.input.stride;
    const int64_t end = rows.end;
    buffers.places.set(b.first[kWidth], b.width, width, 1, [&](int64_t o) { return source(kWidth, o) - left; });
    for (rows.from_stride = width; rows.first < end; rows.first = rows.end) {
      const int64_t top = source(kHeight, rows.first);
      for (rows.end = end; source(kHeight, rows.end - 1) - top >= Buffers::kCopied / width;) --rows.end;
      buffers.copy(from(b) + top * stride[kHeight] + left * stride[kWidth], source(kHeight, rows.end - 1) - top + 1,
                   width, stride + kHeight);
      // Where row 0 would be, which is not copied: the loops have no register left for the number of the first one.
      rows.from = reinterpret_cast<const Bits*>(reinterpret_cast<uintptr_t>(buffers.copied) -
                                                static_cast<uintptr_t>(top * width) * sizeof(Bits));
      rows.to = to(b) + (rows.first - b.first[kHeight]) * rows.to_stride;
      buffers.places.fill(rows, a_.output.stride[kWidth]);
    }
  }

  const UpsampleNearest3dArgs& a_;
  Bits* to_;
  const Bits* from_;
};

}  // namespace

void UpsampleNearest3dCpu(const UpsampleNearest3dArgs& a, void* const* data) {
  if (size_of(a.dtype) == 2) return Upsampling<uint16_t>(a, data)();
  if (size_of(a.dtype) == 4) return Upsampling<uint32_t>(a, data)();
  return Upsampling<uint64_t>(a, data)();
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(UpsampleNearest3dCpu);

Status upsample_nearest3d(const UpsampleNearest3dArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(UpsampleNearest3dCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kUpsampleNearest3d, upsample_nearest3d);

}  // namespace
}  // namespace descend
#endif
