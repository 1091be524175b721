// SPDX-License-Identifier: MIT
// Cutting the elements a kernel writes into blocks, for threads and buffers.  No arithmetic: nothing here depends on
// the SIMD target.
#pragma once
#include <algorithm>
#include <cstdint>

#include "ops/upsample_nearest3d/upsample_nearest3d_kernels.h"
#include "src/loops/boxes.h"
#include "src/loops/move.h"
#include "src/loops/parallel.h"

namespace descend {

// A block is of one batch.
struct UpsampleBlock {
  int64_t first[kUpsampleAxes];
  int64_t channels, depth, height, width;
};

inline int64_t upsample_offset(const UpsampleView& view, int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
  return n * view.stride[kBatch] + c * view.stride[kChannel] + d * view.stride[kDepth] + h * view.stride[kHeight] +
         w * view.stride[kWidth];
}
inline int64_t upsample_elements(const UpsampleView& view) {
  int64_t n = 1;
  for (int64_t size : view.size) n *= size;
  return n;
}
// Elements of the larger side: how much there is to do.
inline int64_t upsample_larger(const UpsampleNearest3dArgs& a) {
  return std::max(upsample_elements(a.input), upsample_elements(a.output));
}

// Whether the elements of a view lie closer to each other along the channels than along the width.
inline bool upsample_channels_inside(const UpsampleView& view) {
  return view.size[kChannel] > 1 &&
         (view.size[kWidth] == 1 || detail::magnitude(view.stride[kChannel]) < detail::magnitude(view.stride[kWidth]));
}

class UpsampleBlocks {
 public:
  struct Most {
    int64_t channels, depth, height, width;
    int64_t points = kChunk;  // a thread's share
  };
  // Blocks of at most so many channels, and as wide, high and deep as a thread's share allows up to those numbers.
  // Blocks that follow each other lie next to each other in what is written, but for the parts of rows that are wider
  // than a block: what is known of such a part holds for the same part of the next row.
  UpsampleBlocks(const UpsampleView& written, const Most& most) : size_(written.size) {
    int64_t room = most.points / (edge_[kChannel] = most.channels);
    const auto cut = [&](int axis, int64_t at_most) {
      edge_[axis] = std::clamp<int64_t>(room, 1, std::min(size_[axis], at_most));
      room /= edge_[axis];
    };
    cut(kWidth, most.width), cut(kHeight, most.height), cut(kDepth, most.depth);
    if (most.channels == 1) std::swap(order_[3], order_[4]);
    if (upsample_channels_inside(written) || most.channels > 1)
      std::rotate(order_ + 1, order_ + 2, order_ + kUpsampleAxes);
    for (int axis = 0; axis < kUpsampleAxes; ++axis) {
      per_axis_[axis] = (size_[axis] - 1) / edge_[axis] + 1;
      count_ *= per_axis_[axis];
    }
  }

  int64_t count() const { return count_; }

  // Calls body(begin, end) with ranges of blocks, on all threads.  `points` is how many elements all of them move.
  template <class Body> void in_parallel(int64_t points, const Body& body) const {
    parallel_for(count_, std::max<int64_t>(1, kChunk / std::max<int64_t>(1, points / count_)), body);
  }

  template <class Body> void for_each(int64_t begin, int64_t end, const Body& body) const {
    int64_t at[kUpsampleAxes], rest = begin;
    for (int j = kUpsampleAxes - 1; j >= 0; rest /= per_axis_[order_[j]], --j)
      at[order_[j]] = rest % per_axis_[order_[j]];
    for (; begin < end; ++begin) {
      UpsampleBlock block;
      for (int axis = 0; axis < kUpsampleAxes; ++axis) block.first[axis] = at[axis] * edge_[axis];
      block.channels = std::min(edge_[kChannel], size_[kChannel] - block.first[kChannel]);
      block.depth = std::min(edge_[kDepth], size_[kDepth] - block.first[kDepth]);
      block.height = std::min(edge_[kHeight], size_[kHeight] - block.first[kHeight]);
      block.width = std::min(edge_[kWidth], size_[kWidth] - block.first[kWidth]);
      body(static_cast<const UpsampleBlock&>(block));
      for (int j = kUpsampleAxes - 1; j >= 0 && ++at[order_[j]] == per_axis_[order_[j]]; --j) at[order_[j]] = 0;
    }
  }

 private:
  const int64_t* size_;
  int64_t edge_[kUpsampleAxes] = {1, 1, 1, 1, 1};
  int order_[kUpsampleAxes] = {kBatch, kChannel, kDepth, kHeight, kWidth};  // the last one counts fastest
  int64_t per_axis_[kUpsampleAxes];
  int64_t count_ = 1;
};

}  // namespace descend
