// SPDX-License-Identifier: MIT
// The gradient of the nearest upsampling on the CPU.
//
// An element is the sum of its box, one term after the other in the order depth, height, width.  Vectors hold different
// elements, along the width or the channels, so that every path below adds the same terms in the same order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/upsample_nearest3d/upsample_nearest3d_backward_cpu.cc"
#include <hwy/foreach_target.h>

#include <utility>

#include "ops/upsample_nearest3d/upsample_nearest3d_cpu-inl.h"
#include "ops/upsample_nearest3d/upsample_nearest3d_sums_cpu-inl.h"
#include "ops/upsample_nearest3d/upsample_nearest3d_uneven_sums_cpu-inl.h"
#include "src/loops/convert_cpu-inl.h"
#include "src/loops/move.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T, class Element> class Gradient {
 public:
  Gradient(const UpsampleNearest3dArgs& a, void* const* data)
      : a_(a),
        to_(static_cast<Element*>(data[0])),
        from_(static_cast<const Element*>(data[1])),
        neighbours_(neighbours(a, kWidth)),
        rows_(neighbours(a, kHeight)) {}

  void operator()() const {
    const bool along_channels = a_.output.stride[kChannel] == 1 && upsample_channels_inside(a_.output);
    const bool copies = !along_channels && a_.output.stride[kWidth] != 1;
    const int64_t channels = along_channels ? std::min<int64_t>(a_.input.size[kChannel], kTile / 2) : 1;
    // What is copied is narrow and high, for that is what lies together.
    const UpsampleBlocks::Most most{
        .channels = channels,
        .depth = 1,
        .height = copies ? kChunk : std::max<int64_t>(1, kTile / (channels * a_.input.size[kWidth])),
        .width = copies ? 2 * kCacheLine / static_cast<int64_t>(sizeof(Element)) : kTile / channels};
    const UpsampleBlocks blocks(a_.input, most);
    blocks.in_parallel(upsample_larger(a_), [&](int64_t begin, int64_t end) {
      Buffers buffers;
      blocks.for_each(begin, end, [&](const UpsampleBlock& block) {
        along_channels ? sum_along_channels(block, buffers) : sum_rows(block, buffers);
      });
    });
  }

 private:
  // What a thread works in.
  struct Buffers {
    static constexpr int64_t kCopied = 2 * kLargeBox / sizeof(Element);
    SumBuffers<T, Element> sums;
    Element copied[kCopied];  // of gradOut, rows as neighbours
  };
  // Where the terms of a row's elements are.
  struct Terms {
    const Element* from;  // the first one
    Owned depth, height;
    int64_t stride;  // of the width
    int64_t count;   // that the row has, from the first one on
  };

  // How many neighbours on an axis each element sums: 1, 2 or 4 where it is the same number for all, otherwise 0.
  static int neighbours(const UpsampleNearest3dArgs& a, int axis) {
    const float factor = a.factor[axis];
    if (factor != 1 && factor != 2 && factor != 4) return 0;
    // Up to here float counts exactly.
    const int64_t size = a.input.size[axis], step = static_cast<int64_t>(factor);
    return size <= (1 << 22) && size * step <= a.output.size[axis] ? static_cast<int>(step) : 0;
  }

  int64_t first_owned(int axis, int64_t i) const {
    return upsample_first_owned(i, a_.factor[axis], a_.output.size[axis]);
  }
  Owned between(int axis, int64_t first, int64_t end) const {
    return {end > first ? first : 0, end - first, a_.output.stride[axis]};  // nothing may begin behind the last
  }
  Owned owned(int axis, int64_t i) const { return between(axis, first_owned(axis, i), first_owned(axis, i + 1)); }
  const Element* source(const UpsampleBlock& b, const Owned& depth, const Owned& height, int64_t w) const {
    return from_ + upsample_offset(a_.output, b.first[kBatch], b.first[kChannel], depth.first, height.first, w);
  }
  Element* target(const UpsampleBlock& b) const {
    return to_ + upsample_offset(a_.input, b.first[kBatch], b.first[kChannel], b.first[kDepth], b.first[kHeight],
                                 b.first[kWidth]);
  }

  // Calls body(row, height) with each row of a block and what it owns of gradOut's height.
  template <class Body> void for_each_row(const UpsampleBlock& block, const Body& body) const {
    int64_t next = first_owned(kHeight, block.first[kHeight]);
    for (UpsampleBlock row = block; row.height > 0; --row.height, ++row.first[kHeight]) {
      const int64_t first = std::exchange(next, first_owned(kHeight, row.first[kHeight] + 1));
      body(row, between(kHeight, first, next));
    }
  }

  void sum_along_channels(const UpsampleBlock& block, Buffers& buffers) const {
    const Owned depth = owned(kDepth, block.first[kDepth]);
    const bool direct = a_.input.stride[kChannel] == 1;
    Element* const raw = buffers.sums.raw;
    const int64_t apart = direct ? a_.input.stride[kWidth] : block.channels;
    for_each_row(block, [&](const UpsampleBlock& b, const Owned& height) {
      Element* const to = target(b);
      Element* const sums = direct ? to : raw;
      const auto sum = [&](const Owned& width, const Repeated& places, Element* at) {
        sum_channels<T>(source(b, depth, height, width.first), depth, height, width, places, b.channels, at);
      };
      if (neighbours_ != 0) {
        const Owned width{b.first[kWidth] * neighbours_, neighbours_, a_.output.stride[kWidth]};
        sum(width, {b.width, neighbours_ * width.stride, apart}, sums);
      } else {
        for (int64_t w = 0; w < b.width; ++w) sum(owned(kWidth, b.first[kWidth] + w), {1, 0, 0}, sums + w * apart);
      }
      if (direct) return;
      const int64_t extent[] = {b.width, b.channels}, stride[] = {a_.input.stride[kWidth], a_.input.stride[kChannel]};
      scatter(axes_of(2, extent, stride), sizeof(Element), raw, to);
    });
  }

  // Where each row has as many of gradOut's, the next one is as far away as the last: nothing has to be found.
  void sum_even_rows(const UpsampleBlock& b) const {
    const Owned depth = owned(kDepth, b.first[kDepth]);
    const Owned height{b.first[kHeight] * rows_, rows_, a_.output.stride[kHeight]};
    sum_neighbours_of(source(b, depth, height, b.first[kWidth] * neighbours_), depth, height,
                      {b.height, rows_ * height.stride, a_.input.stride[kHeight]}, b.width, target(b));
  }

  // Rows of gradOut whose elements are no neighbours in memory are copied first, as many as there is room for at a
  // time.
  void sum_rows(const UpsampleBlock& block, Buffers& buffers) const {
    const int64_t stride = a_.output.stride[kWidth], size = a_.output.size[kWidth];
    if (stride == 1 && a_.input.stride[kWidth] == 1 && neighbours_ != 0 && rows_ != 0) return sum_even_rows(block);
    const int64_t left = std::min(first_owned(kWidth, block.first[kWidth]), size - 1);  // nothing may begin behind it
    const Owned depth = owned(kDepth, block.first[kDepth]);
    const int64_t width = stride == 1 ? 0 : first_owned(kWidth, block.first[kWidth] + block.width) - left;
    const int64_t room = depth.count * width > 0 ? Buffers::kCopied / (depth.count * width) : 0;
    int64_t top = 0, bottom = 0;  // rows that are copied
    for_each_row(block, [&](const UpsampleBlock& b, const Owned& height) {
      Terms terms{source(b, depth, height, left), depth, height, stride, size - left};
      if (height.count > 0 && height.count <= room) {
        if (height.first + height.count > bottom) {
          top = height.first;
          bottom = std::min(top + room, first_owned(kHeight, block.first[kHeight] + block.height));
          const int64_t extent[] = {depth.count, bottom - top, width};
          gather(axes_of(3, extent, a_.output.stride + kDepth), sizeof(Element), terms.from, buffers.copied);
        }
        terms = {buffers.copied + (height.first - top) * width,
                 {0, depth.count, (bottom - top) * width},
                 {0, height.count, width},
                 1,
                 width};
      }
      sum_row(b, terms, buffers.sums);
    });
  }

  void sum_row(const UpsampleBlock& b, const Terms& terms, SumBuffers<T, Element>& buffers) const {
    const int64_t stride = a_.input.stride[kWidth];
    Element* const to = target(b);
    Element* const sums = stride == 1 ? to : buffers.raw;
    if (terms.stride == 1 && neighbours_ != 0)
      sum_neighbours_of(terms.from, terms.depth, terms.height, {1, 0, 0}, b.width, sums);
    else
      sum_uneven_row(b, terms, sums, buffers);
    if (stride != 1) scatter(axes_of(1, &b.width, &stride), sizeof(Element), buffers.raw, to);
  }

  void sum_neighbours_of(const Element* from, const Owned& depth, const Owned& height, const Repeated& rows,
                         int64_t width, Element* to) const {
    if (neighbours_ == 1)
      sum_neighbours<T, 1>(from, depth, height, rows, width, to);
    else if (neighbours_ == 2)
      sum_neighbours<T, 2>(from, depth, height, rows, width, to);
    else
      sum_neighbours<T, 4>(from, depth, height, rows, width, to);
  }

  // Boxes of any width.
  void sum_uneven_row(const UpsampleBlock& b, const Terms& terms, Element* to, SumBuffers<T, Element>& buffers) const {
    const int64_t first = b.first[kWidth];
    if (buffers.table_first != first || buffers.table_width != b.width || buffers.table_stride != terms.stride) {
      buffers.table_first = first;
      buffers.table_width = b.width;
      buffers.table_stride = terms.stride;
      buffers.widest = 0;
      for (int64_t i = 0; i <= b.width; ++i) {
        buffers.edge[i] = first_owned(kWidth, first + i) - first_owned(kWidth, first);
        if (i > 0) buffers.widest = std::max(buffers.widest, buffers.edge[i] - buffers.edge[i - 1]);
      }
      set_places(b.width, terms, buffers);
    }
    const int64_t done = buffers.in_pairs;
#if HWY_TARGET != HWY_SCALAR
    sum_pairs(terms.from, terms.depth, terms.height, buffers.places, buffers.edge, done, buffers.sum);
#endif
    std::fill(buffers.sum + done, buffers.sum + b.width, T{0});
    int64_t rows[kTermRows], count = 0;
    const auto add = [&] { add_rows(terms.from, rows, std::exchange(count, 0), terms.stride, done, b.width, buffers); };
    for (int64_t z = 0; z < terms.depth.count; ++z)
      for (int64_t y = 0; y < terms.height.count; ++y) {
        rows[count++] = z * terms.depth.stride + y * terms.height.stride;
        if (count == kTermRows) add();
      }
    if (count > 0) add();
    store_run<T, Element>(buffers.sum, b.width, to);
  }

  // Places for as many elements as have all of their vectors' terms in the row.
  static void set_places(int64_t width, const Terms& terms, SumBuffers<T, Element>& buffers) {
    constexpr int64_t kLanes = PairPlaces<T>::kLanes;
    int64_t& i = buffers.in_pairs = 0;
    if (HWY_TARGET == HWY_SCALAR || terms.stride != 1 || buffers.widest != 2) return;
    for (; i + kLanes <= width && buffers.edge[i] + PairPlaces<T>::kSpan <= terms.count; i += kLanes)
      buffers.places[i / kLanes].set(buffers.edge + i);
  }

  const UpsampleNearest3dArgs& a_;
  Element* to_;
  const Element* from_;
  const int neighbours_;  // of an element, along the width
  const int rows_;        // of a row, along the height
};

}  // namespace

void UpsampleNearest3dBackwardCpu(const UpsampleNearest3dArgs& a, void* const* data) {
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype, [&]<class Element> { Gradient<float, Element>(a, data)(); });
  if (a.dtype == DataType::kDouble) Gradient<double, double>(a, data)();
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(UpsampleNearest3dBackwardCpu);

Status upsample_nearest3d_backward(const UpsampleNearest3dArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(UpsampleNearest3dBackwardCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kUpsampleNearest3dBackward, upsample_nearest3d_backward);

}  // namespace
}  // namespace descend
#endif
