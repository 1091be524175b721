// SPDX-License-Identifier: MIT
// The order of a sum's additions, for every backend: it depends on the number of terms alone.
//
// A tile of kTile terms is added in columns, of double or of float, the columns as a tree in double; tiles and then
// chunks of tiles are added one after the other with compensation, or in columns again where no term is negative.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/base/host_device.h"
#include "src/loops/boxes.h"

namespace descend {

template <class T> inline constexpr int64_t kSumColumns = 128 / sizeof(T);  // of a tile: 16 of double, 32 of float
inline constexpr int64_t kSumChunks = 256;                                  // at most: their sums are kept on the stack

// A running sum that keeps what its additions lose.
class CompensatedSum {
 public:
  DESCEND_HOST_DEVICE void add(double x) {
    const double sum = sum_ + x, x_in_sum = sum - sum_;
    lost_ += (sum_ - (sum - x_in_sum)) + (x - x_in_sum);  // without a branch: a row of additions overlaps
    sum_ = sum;
  }
  // What infinities and NaNs lose is no number.
  DESCEND_HOST_DEVICE double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// A running sum in columns.  Of terms that are not negative it loses next to nothing, and its chains of additions are
// short: those of a CompensatedSum are long where one thread adds what a whole GPU's block has made.
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

// How many tiles of `count` terms make a chunk.
DESCEND_HOST_DEVICE inline int64_t tiles_per_chunk(int64_t count) {
  const int64_t least = kChunk / kTile, even = ((count - 1) / kTile) / kSumChunks + 1;
  return even < least ? least : even;
}

// What sum_terms(), or sum_tiles<Running>(), adds up of `count` terms, for a loop that has their tiles one after the
// other: the same bits.
template <class Running = CompensatedSum> class SumOfTiles {
 public:
  DESCEND_HOST_DEVICE explicit SumOfTiles(int64_t count = 1) : per_chunk_(tiles_per_chunk(count)) {}
  // `tile` is sum_padded_tile() of the next kTile terms, or of the last ones.
  DESCEND_HOST_DEVICE void add(double tile) {
    chunk_.add(tile);
    if (++tiles_ < per_chunk_) return;
    sum_.add(chunk_.value());
    has_chunks_ = true;
    chunk_ = {};
    tiles_ = 0;
  }
  // The next `count` of them, with nothing between the additions of a chunk.
  DESCEND_HOST_DEVICE void add(const double* tiles, int64_t count) {
    while (count > 0) {
      const int64_t left = per_chunk_ - tiles_, n = count < left ? count : left;
      DESCEND_UNROLL_ON_DEVICE
      for (int64_t i = 0; i + 1 < n; ++i) chunk_.add(tiles[i]);
      tiles_ += n - 1;
      add(tiles[n - 1]);
      tiles += n;
      count -= n;
    }
  }
  DESCEND_HOST_DEVICE double value() const {
    if (!has_chunks_) return chunk_.value();  // what is added to nothing stays what it is
    Running sum = sum_;
    if (tiles_ != 0) sum.add(chunk_.value());
    return sum.value();
  }

 private:
  int64_t per_chunk_, tiles_ = 0;  // of the chunk that is not full yet
  bool has_chunks_ = false;        // in sum_
  Running chunk_, sum_;
};

}  // namespace descend
