// SPDX-License-Identifier: MIT
// The nearest upsampling on the CPU.  Elements are moved as bits, so that only their size matters.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/upsample_nearest3d/upsample_nearest3d_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/upsample_nearest3d/upsample_nearest3d_cpu-inl.h"
#include "ops/upsample_nearest3d/upsample_nearest3d_places_cpu-inl.h"
#include "ops/upsample_nearest3d/upsample_nearest3d_rows_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace {

template <class Bits> class Upsampling {
 public:
  Upsampling(const UpsampleNearest3dArgs& a, void* const* data)
      : a_(a), to_(static_cast<Bits*>(data[0])), from_(static_cast<const Bits*>(data[1])) {}

  void operator()() const {
    const bool along_channels = upsample_channels_inside(a_.input);
    const int64_t points = upsample_elements(a_.output);
    // Whole planes, and many of them, are written without a pause.
    const UpsampleBlocks blocks(a_.output, {.channels = along_channels ? a_.output.size[kChannel] : 1,
                                            .depth = kTile,
                                            .height = kTile,
                                            .width = kTile,
                                            .points = std::max(kChunk, points / (16 * parallel_width()))});
    blocks.in_parallel(points, [&](int64_t begin, int64_t end) {
      Buffers buffers;
      blocks.for_each(begin, end, [&](const UpsampleBlock& block) {
        if (along_channels)
          channels(block, buffers);
        else
          rows(block, buffers);
      });
    });
  }

 private:
  // What a thread works in.
  struct Buffers {
    static constexpr int64_t kCopied = kLargeBox / sizeof(Bits);
    Runs depth, height, width;
    Places<Bits> places;
    Bits copied[kCopied];  // of the source, rows as neighbours
  };

  int64_t source(int axis, int64_t o) const { return upsample_source(o, a_.factor[axis], a_.input.size[axis]); }
  Along along(int axis, int64_t first, int64_t n, int64_t stride, Runs& runs) const {
    runs.set(first, n, stride, [&](int64_t o) { return source(axis, o); });
    return {runs.begin(), runs.end(), a_.output.stride[axis]};
  }
  // The rows of a block, whose sources lie `stride` elements apart in a plane.
  Rows<Bits> rows_of(const UpsampleBlock& b, int64_t stride, Buffers& buffers) const {
    return {.from = from_ + upsample_offset(a_.input, b.first[kBatch], b.first[kChannel], 0, 0, 0),
            .to = to_ + upsample_offset(a_.output, b.first[kBatch], b.first[kChannel], b.first[kDepth],
                                        b.first[kHeight], b.first[kWidth]),
            .depth = along(kDepth, b.first[kDepth], b.depth, a_.input.stride[kDepth], buffers.depth),
            .height = along(kHeight, b.first[kHeight], b.height, stride, buffers.height)};
  }

  void channels(const UpsampleBlock& b, Buffers& buffers) const {
    const Along width = along(kWidth, b.first[kWidth], b.width, a_.input.stride[kWidth], buffers.width);
    const int64_t read = a_.input.stride[kChannel], write = a_.output.stride[kChannel];
    const Rows<Bits> rows = rows_of(b, a_.input.stride[kHeight], buffers);
    if (read == 1 && write == 1)
      return rows.for_each([&width, n = b.channels](const Bits* row, Bits* to, Bits* next) {
        copy_channels(row, width, n, to);
        if (next) copy_channels(row, width, n, next);
      });
    rows.for_each([&](const Bits* row, Bits* to, Bits* next) {
      for (; to; to = next, next = nullptr)
        for (const Run* x = width.begin; x < width.end; ++x)
          for (int64_t i = 0; i < x->count; ++i, to += width.stride)
            for (int64_t c = 0; c < b.channels; ++c) to[c * write] = row[x->from + c * read];
    });
  }

  void rows(const UpsampleBlock& b, Buffers& buffers) const {
    const int64_t first = b.first[kWidth], stride = a_.input.stride[kWidth];
    if (stride != 1) {
      const int64_t left = source(kWidth, first), width = source(kWidth, first + b.width - 1) - left + 1;
      if (width <= Buffers::kCopied) return copied_rows(b, left, width, buffers);
    }
    buffers.places.set(first, b.width, a_.input.size[kWidth], stride, [&](int64_t o) { return source(kWidth, o); });
    buffers.places.fill(rows_of(b, a_.input.stride[kHeight], buffers), a_.output.stride[kWidth]);
  }

  // The same of rows whose elements, `width` of them from column `left` on, are copied to be neighbours: as many rows
  // of a plane as there is room for at a time.
  HWY_NOINLINE void copied_rows(const UpsampleBlock& b, int64_t left, int64_t width, Buffers& buffers) const {
    const int64_t* const stride = a_.input.stride;
    const Rows<Bits> all = rows_of(b, width, buffers);
    const int64_t room = Buffers::kCopied / width;  // rows
    buffers.places.set(b.first[kWidth], b.width, width, 1, [&](int64_t o) { return source(kWidth, o) - left; });
    Bits* plane = all.to;
    for (const Run* z = all.depth.begin; z < all.depth.end; plane += z->count * all.depth.stride, ++z) {
      Rows<Bits> part = all;
      part.to = plane, part.depth.begin = z, part.depth.end = z + 1;
      for (const Run* y = all.height.begin; y < all.height.end; y = part.height.end) {
        const int64_t top = y->from / width;
        int64_t count = 0;
        const Run* end = y;
        while (end < all.height.end && end->from < (top + room) * width) count += end++->count;
        const int64_t extent[] = {end[-1].from / width - top + 1, width};
        gather(axes_of(2, extent, stride + kHeight), sizeof(Bits),
               all.from + z->from + top * stride[kHeight] + left * stride[kWidth], buffers.copied);
        // Where row 0 of plane 0 would be, which are not copied.
        part.from = reinterpret_cast<const Bits*>(reinterpret_cast<uintptr_t>(buffers.copied) -
                                                  static_cast<uintptr_t>(z->from + y->from) * sizeof(Bits));
        part.height.begin = y, part.height.end = end;
        buffers.places.fill(part, a_.output.stride[kWidth]);
        part.to += count * part.height.stride;
      }
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
