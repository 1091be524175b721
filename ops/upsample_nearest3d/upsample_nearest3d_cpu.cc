// SPDX-License-Identifier: MIT
// The nearest upsampling on the CPU.  Elements are moved as bits, so that only their size matters.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/upsample_nearest3d/upsample_nearest3d_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "ops/upsample_nearest3d/upsample_nearest3d_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// to[i] = from[i / k] for i in [0, n).
template <int k, class Bits> HWY_NOINLINE void repeat_each(const Bits* from, int64_t n, Bits* to) {
  const hn::ScalableTag<Bits> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + k * lanes <= n; i += k * lanes) {
    const auto v = hn::LoadU(d, from + i / k);
    if constexpr (k == 2)
      hn::StoreInterleaved2(v, v, d, to + i);
    else
      hn::StoreInterleaved4(v, v, v, v, d, to + i);
  }
  for (; i < n; ++i) to[i] = from[i / k];
}

// What a thread knows of the row it wrote last.
template <class Bits> struct LastRow {
  int64_t first = -1, width = 0;
  const Bits* from = nullptr;
  const Bits* to = nullptr;
  int64_t source[kTile];  // where each element comes from, from the row on
};

template <class Bits> class Upsampling {
 public:
  Upsampling(const UpsampleNearest3dArgs& a, void* const* data)
      : a_(a), to_(static_cast<Bits*>(data[0])), from_(static_cast<const Bits*>(data[1])) {}

  void operator()() const {
    const bool along_channels = upsample_channels_inside(a_.input);
    const UpsampleBlocks blocks(a_.output, along_channels ? std::min<int64_t>(a_.output.size[kChannel], kTile / 2) : 1);
    const int64_t repeat = repeats();
    blocks.in_parallel(upsample_elements(a_.output), [&](int64_t begin, int64_t end) {
      LastRow<Bits> last;
      blocks.for_each(begin, end, [&](const UpsampleBlock& block) {
        if (along_channels)
          channels(block);
        else
          row(block, repeat, last);
      });
    });
  }

 private:
  int64_t source(int axis, int64_t o) const { return upsample_source(o, a_.factor[axis], a_.input.size[axis]); }

  // How often a row repeats each of its elements: 1, 2 or 4 where it is the same number for all, otherwise 0.
  int64_t repeats() const {
    const float factor = a_.factor[kWidth];
    if (a_.input.stride[kWidth] != 1 || a_.output.stride[kWidth] != 1) return 0;
    if (factor != 1 && factor != 0.5f && factor != 0.25f) return 0;
    const int64_t repeat = static_cast<int64_t>(1 / factor), last = a_.output.size[kWidth] - 1;
    return last < (1 << 24) && last / repeat < a_.input.size[kWidth] ? repeat : 0;  // up to there float counts exactly
  }
  // The block's first row or element on either side; `w` is the input's index.
  const Bits* from(const UpsampleBlock& b, int64_t w) const {
    return from_ + upsample_offset(a_.input, b.first[kBatch], b.first[kChannel], source(kDepth, b.first[kDepth]),
                                   source(kHeight, b.first[kHeight]), w);
  }
  Bits* to(const UpsampleBlock& b) const {
    return to_ + upsample_offset(a_.output, b.first[kBatch], b.first[kChannel], b.first[kDepth], b.first[kHeight],
                                 b.first[kWidth]);
  }

  void channels(const UpsampleBlock& b) const {
    const int64_t read = a_.input.stride[kChannel], write = a_.output.stride[kChannel];
    const Bits* const row = from(b, 0);
    Bits* const out = to(b);
    for (int64_t w = 0; w < b.width; ++w) {
      const Bits* element = row + source(kWidth, b.first[kWidth] + w) * a_.input.stride[kWidth];
      Bits* at = out + w * a_.output.stride[kWidth];
      if (read == 1 && write == 1)
        std::memcpy(at, element, static_cast<size_t>(b.channels) * sizeof(Bits));
      else
        for (int64_t c = 0; c < b.channels; ++c) at[c * write] = element[c * read];
    }
  }

  void row(const UpsampleBlock& b, int64_t repeat, LastRow<Bits>& last) const {
    const int64_t first = b.first[kWidth];  // a multiple of kTile
    Bits* const out = to(b);
    if (repeat == 1) return void(std::memcpy(out, from(b, first), static_cast<size_t>(b.width) * sizeof(Bits)));
    if (repeat == 2) return repeat_each<2>(from(b, first / 2), b.width, out);
    if (repeat == 4) return repeat_each<4>(from(b, first / 4), b.width, out);
    const int64_t read = a_.input.stride[kWidth], write = a_.output.stride[kWidth];
    const Bits* const row = from(b, 0);
    const bool same_places = last.first == first && last.width == b.width;
    if (same_places && last.from == row && write == 1)  // the next height of the same source: it is in the cache
      return void(std::memcpy(out, last.to, static_cast<size_t>(b.width) * sizeof(Bits)));
    if (!same_places)
      for (int64_t i = 0; i < b.width; ++i) last.source[i] = source(kWidth, first + i) * read;
    for (int64_t i = 0; i < b.width; ++i) out[i * write] = row[last.source[i]];
    last.first = first;
    last.width = b.width;
    last.from = row;
    last.to = out;
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
