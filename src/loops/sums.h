// SPDX-License-Identifier: MIT
// The order of a sum's additions, for every backend: it depends on the number of terms alone.
//
// Terms are added in columns, one after the other to each, and the columns as a tree: a tile of kTile terms, in columns
// of double or of float; then the sums of tiles in a chunk, of chunks in a group, and of groups.  So chains of
// additions are short: a sum loses little, and the threads of a GPU need not wait for one of them.
#pragma once
#include <cstdint>

#include "src/base/host_device.h"
#include "src/loops/boxes.h"

namespace descend {

template <class T> inline constexpr int64_t kSumColumns = 128 / sizeof(T);  // of a tile: 16 of double, 32 of float
inline constexpr int64_t kTilesOfChunk = kChunk / kTile;
inline constexpr int64_t kSumGroups = 256;  // at most: their sums are kept on the stack

// How many chunks of `count` terms make a group.
DESCEND_HOST_DEVICE inline int64_t chunks_per_group(int64_t count) { return (count - 1) / kChunk / kSumGroups + 1; }

// A running sum in columns of double.  Of one term it is that term, but 0 for -0.
class ColumnedSum {
 public:
  DESCEND_HOST_DEVICE void add(double x) {
    column_[next_] += x;
    next_ = (next_ + 1) % kColumns;
  }
  DESCEND_HOST_DEVICE double value() const {
    double column[kColumns];
    for (int64_t i = 0; i < kColumns; ++i) column[i] = column_[i];
    for (int64_t width = kColumns / 2; width > 0; width /= 2)
      for (int64_t i = 0; i < width; ++i) column[i] += column[i + width];
    return column[0];
  }

 private:
  static constexpr int64_t kColumns = kSumColumns<double>;
  double column_[kColumns] = {};
  int64_t next_ = 0;
};

// A group's sum, of its tiles one after the other.
class SumOfGroup {
 public:
  DESCEND_HOST_DEVICE void add(double tile) {
    chunk_.add(tile);
    if (++tiles_ < kTilesOfChunk) return;
    add_chunk(chunk_.value());
    chunk_ = {};
    tiles_ = 0;
  }
  DESCEND_HOST_DEVICE void add_chunk(double sum) {
    sum_.add(sum);
    has_chunks_ = true;
  }
  DESCEND_HOST_DEVICE double value() const {
    if (!has_chunks_) return chunk_.value();
    ColumnedSum sum = sum_;
    if (tiles_ != 0) sum.add(chunk_.value());
    return sum.value();
  }

 private:
  int64_t tiles_ = 0;        // of the chunk that is not full yet
  bool has_chunks_ = false;  // in sum_
  ColumnedSum chunk_, sum_;
};

// What sum_terms() adds up of `count` terms, for a loop that has their tiles one after the other: the same bits.
class SumOfTiles {
 public:
  DESCEND_HOST_DEVICE explicit SumOfTiles(int64_t count) : per_group_(chunks_per_group(count) * kTilesOfChunk) {}
  // `tile` is sum_padded_tile() of the next kTile terms, or of the last ones.
  DESCEND_HOST_DEVICE void add(double tile) {
    group_.add(tile);
    count_tiles(1);
  }
  // The sum of the next kTilesOfChunk tiles, or of the last ones.
  DESCEND_HOST_DEVICE void add_chunk(double sum) {
    group_.add_chunk(sum);
    count_tiles(kTilesOfChunk);
  }
  DESCEND_HOST_DEVICE double value() const {
    if (!has_groups_) return group_.value();
    ColumnedSum sum = sum_;
    if (tiles_ != 0) sum.add(group_.value());
    return sum.value();
  }

 private:
  DESCEND_HOST_DEVICE void count_tiles(int64_t n) {
    tiles_ += n;
    if (tiles_ < per_group_) return;
    sum_.add(group_.value());
    has_groups_ = true;
    group_ = {};
    tiles_ = 0;
  }
  int64_t per_group_, tiles_ = 0;  // of the group that is not full yet
  bool has_groups_ = false;        // in sum_
  SumOfGroup group_;
  ColumnedSum sum_;
};

}  // namespace descend
