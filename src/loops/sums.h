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
  DESCEND_HOST_DEVICE void add(double x) { column_[terms_++ % kColumns] += x; }
  // The sum, which then begins again.  Columns that have no term are 0, which changes nothing, and stay out.
  DESCEND_HOST_DEVICE double take() {
    int64_t width = kColumns / 2;
    while (width >= terms_ && width > 0) width /= 2;
    const int64_t used = terms_ < kColumns ? terms_ : kColumns;
    for (; width > 0; width /= 2)
      for (int64_t i = 0; i < width; ++i) column_[i] += column_[i + width];
    const double sum = column_[0];
    for (int64_t i = 0; i < used; ++i) column_[i] = 0;
    terms_ = 0;
    return sum;
  }

 private:
  static constexpr int64_t kColumns = kSumColumns<double>;
  double column_[kColumns] = {};
  int64_t terms_ = 0;
};

// A running sum in columns of sums, of `length` terms each, which Inner adds: of a group's tiles, if nothing else is
// said.
template <class Inner = ColumnedSum> class SumOfSums {
 public:
  DESCEND_HOST_DEVICE explicit SumOfSums(int64_t length = kTilesOfChunk) : length_(length) {}
  DESCEND_HOST_DEVICE void add(double x) {
    if (length_ == 1) return keep(x);
    inner_.add(x);
    if (++terms_ < length_) return;
    keep(inner_.take());
    terms_ = 0;
  }
  // The sum, which then begins again.
  DESCEND_HOST_DEVICE double take() {
    if (!has_sums_) {  // of terms of one sum, which need no columns
      terms_ = 0;
      return inner_.take();
    }
    if (terms_ != 0) keep(inner_.take());
    terms_ = 0;
    has_sums_ = false;
    return sums_.take();
  }

 private:
  DESCEND_HOST_DEVICE void keep(double sum) {
    sums_.add(sum);
    has_sums_ = true;
  }
  int64_t length_, terms_ = 0;  // of the sum that is not at its end
  bool has_sums_ = false;       // in sums_
  Inner inner_;
  ColumnedSum sums_;
};

// What sum_terms() adds up of `count` terms, for a loop that has their tiles one after the other: the same bits.  A
// tile is sum_padded_tile() of the next kTile terms, or of the last ones.
struct SumOfTiles : SumOfSums<SumOfSums<>> {
  explicit SumOfTiles(int64_t count) : SumOfSums(chunks_per_group(count) * kTilesOfChunk) {}
};
// The same, of their chunks.
struct SumOfChunks : SumOfSums<> {
  DESCEND_HOST_DEVICE explicit SumOfChunks(int64_t count) : SumOfSums(chunks_per_group(count)) {}
};

}  // namespace descend
