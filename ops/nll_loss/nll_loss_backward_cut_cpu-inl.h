// SPDX-License-Identifier: MIT
// How the CPU cuts the gradient of the negative log likelihood loss into pieces that stay in the cache.
#if defined(DESCEND_OPS_NLL_LOSS_BACKWARD_CUT_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_NLL_LOSS_BACKWARD_CUT_CPU_INL_H
#undef DESCEND_OPS_NLL_LOSS_BACKWARD_CUT_CPU_INL_H
#else
#define DESCEND_OPS_NLL_LOSS_BACKWARD_CUT_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/nll_loss/nll_loss_kernels.h"
#include "src/loops/boxes.h"
#include "src/loops/move.h"
#include "src/loops/runs.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

inline constexpr int64_t kBlock = 256 * kTile;     // elements written for one look at a tile's targets, or more
inline constexpr int64_t kFewestClasses = 256;     // classes a block has at least
inline constexpr int64_t kStretch = 1024 * kTile;  // elements of rows written together at most
inline constexpr int64_t kStretches = 64;          // if there are that many: threads share them

// Positions that are looked up together, at most kTile.
struct Tile {
  int64_t first, positions;
  int64_t row, rows;  // it is one of this many, one below the other, that share the lines of their targets
};

// out, cut into tiles of positions and blocks of classes.
class Cut {
 public:
  explicit Cut(const NLLLossBackwardArgs& a) : points_(a.points.points()), classes_(a.classes.count) {
    const int last = a.points.rank - 1;
    // Along what lies closer together: neighbours in memory are positions, not classes.
    const bool by_class = last >= 0 && (classes_ == 1 || detail::magnitude(a.points.stride[0][last]) <=
                                                             detail::magnitude(a.class_stride));
    row_ = by_class ? a.points.extent[last] : points_;
    below_ = points_ / row_;
    if (by_class && last > 0 && detail::crossing_dimension(a.points, 1) == last - 1) {
      below_ = a.points.extent[last - 1];
      together_ = std::min(below_, kCacheLine / static_cast<int64_t>(size_of(a.points.dtype[1])));
    }
    // Rows: the longer a stretch of zeros, the faster it is written.
    const int64_t stretch = std::clamp(points_ * classes_ / kStretches, kChunk, kStretch);
    tile_ = by_class ? std::min(row_, kTile) : std::clamp<int64_t>(stretch / classes_, 1, std::min(points_, kTile));
    block_ = std::min(classes_, by_class ? std::max(kBlock / tile_, kFewestClasses) : stretch);
    tiles_per_row_ = (row_ - 1) / tile_ + 1;
    blocks_ = (classes_ - 1) / block_ + 1;
  }

  int64_t units() const { return points_ / row_ * tiles_per_row_ * blocks_; }
  int64_t grain() const {  // as many rows as belong together, or more
    const int64_t least = together_ > 1 ? together_ * blocks_ : 1;
    return std::max<int64_t>(1, kChunk / (tile_ * block_) / least) * least;
  }
  // Whether a unit is all classes of a tile, and the tile's targets are best read in their place.
  bool has_whole_tiles() const { return blocks_ == 1 && together_ == 1; }
  int64_t tile_of(int64_t unit) const { return unit / blocks_; }
  Tile tile(int64_t number) const {
    const int64_t plane = number / (below_ * tiles_per_row_), in_plane = number % (below_ * tiles_per_row_);
    const int64_t row = in_plane / (together_ * tiles_per_row_) * together_, in_rows = in_plane - row * tiles_per_row_;
    const int64_t rows = std::min(together_, below_ - row), in_row = in_rows / rows * tile_;
    return {.first = (plane * below_ + row + in_rows % rows) * row_ + in_row,
            .positions = std::min(tile_, row_ - in_row),
            .row = in_rows % rows,
            .rows = rows};
  }
  int64_t row() const { return row_; }
  int64_t first_class(int64_t unit) const { return unit % blocks_ * block_; }
  int64_t end_class(int64_t unit) const { return std::min(classes_, first_class(unit) + block_); }

 private:
  int64_t points_, classes_, row_, tile_, block_, tiles_per_row_, blocks_;
  int64_t below_, together_ = 1;  // rows of a plane, and those of them that share the lines of their targets
};

// Targets that lie across the rows of out, copied for all rows that share their lines: each line is fetched once.
class CrossingTargets {
 public:
  CrossingTargets(const Iteration<3>& points, const void* targets, int64_t row)
      : points_(points), targets_(static_cast<const std::byte*>(targets)), row_(row) {}

  // The tile's, one after the other; null where they are best read in their place.
  const void* of(const Tile& tile) {
    if (tile.rows == 1) return nullptr;
    const size_t size = size_of(points_.dtype[1]);
    const int64_t first = tile.first - tile.row * row_, last = points_.rank - 1;
    if (first != first_) {
      first_ = first;
      const int64_t* const stride = points_.stride[1] + last - 1;
      const int64_t extent[] = {tile.rows, tile.positions};
      for_each_run(points_, 1, first, 1, [&](int64_t element, int64_t, int64_t) {
        gather(axes_of(2, extent, stride), size, targets_ + element * static_cast<int64_t>(size), copy_);
      });
    }
    return copy_ + static_cast<size_t>(tile.row * tile.positions) * size;
  }

 private:
  const Iteration<3>& points_;
  const std::byte* targets_;
  int64_t row_, first_ = -1;
  HWY_ALIGN std::byte copy_[kTile * kCacheLine];
};

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
