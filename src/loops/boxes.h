// SPDX-License-Identifier: MIT
// Cutting an Iteration into boxes that fit in the first-level cache.  No arithmetic: nothing here depends on the SIMD
// target.
#pragma once
#include <algorithm>
#include <cstdint>

#include "src/loops/bytes.h"
#include "src/tensor/iteration.h"

namespace descend {

inline constexpr int64_t kTile = 512;                // points of a box: 2 KiB of float an operand
inline constexpr int64_t kAcross = 4 * kCacheLine;   // bytes of a run of an operand that runs across the box
inline constexpr int64_t kLargeBox = 128 * kAcross;  // bytes of such a box, at most
inline constexpr int64_t kChunk = 64 * kTile;        // points a thread takes at a time

// The boxes of an iteration: all of the size `edge`, but for the last ones of each dimension.
//
// They are numbered by digits, the last one counting fastest.  A digit counts boxes along one dimension, `step` at a
// time.  Dimensions that are counted in groups have two digits, and numbers that lie beyond the last box of such a
// dimension have no points.
struct Boxes {
  struct Digit {
    int dimension;
    int64_t step, count;
  };
  int rank = 0;
  int64_t edge[kMaxRank];
  int digits = 0;
  Digit digit[kMaxRank + 2];
  int64_t count = 1;  // of numbers
};

namespace detail {

// The dimension along which operand k's neighbours in memory lie, if the innermost dimension is not it; -1 otherwise.
template <int N> int crossing_dimension(const Iteration<N>& points, int k) {
  const int last = points.rank - 1;
  const uint64_t line = static_cast<uint64_t>(kCacheLine) / size_of(points.dtype[k]);
  uint64_t least = std::min(magnitude(points.stride[k][last]), line);
  int nearest = -1;
  for (int i = 0; i < last; ++i) {
    const uint64_t step = magnitude(points.stride[k][i]);
    if (step == 0 || step >= least) continue;
    least = step;
    nearest = i;
  }
  return nearest;
}

}  // namespace detail

// Boxes are as long as they can be along the innermost dimensions, so that runs are long.  Where an operand runs across
// (a transposed matrix), boxes are larger, up to `most` points, and some lines of that operand high, so that each line
// is fetched once and used completely.  Boxes that follow each other stay in a block of 16 by 4: one such operand
// touches a page a column, the others one a row, and more pages than that would not stay in the processor's table of
// them.
template <int N> Boxes cut(const Iteration<N>& points, int64_t most) {
  Boxes boxes;
  const int rank = boxes.rank = points.rank, last = rank - 1;
  int64_t room = kTile;
  std::fill_n(boxes.edge, rank, 1);
  int across = -1;
  for (int k = N - 1; k >= 0 && across < 0 && rank > 1; --k) {
    across = detail::crossing_dimension(points, k);
    if (across < 0) continue;
    boxes.edge[across] = std::min(points.extent[across], kAcross / static_cast<int64_t>(size_of(points.dtype[k])));
    room = most / boxes.edge[across];
  }
  int64_t per_dimension[kMaxRank];
  for (int i = last; i >= 0; --i) {
    if (boxes.edge[i] == 1) {
      boxes.edge[i] = std::clamp<int64_t>(room, 1, points.extent[i]);
      room /= boxes.edge[i];
    }
    per_dimension[i] = (points.extent[i] + boxes.edge[i] - 1) / boxes.edge[i];
  }
  const auto add = [&](int dimension, int64_t step, int64_t count) {
    boxes.digit[boxes.digits++] = {dimension, step, count};
    boxes.count *= count;
  };
  for (int i = 0; i <= last; ++i)
    if (across < 0 || (i != across && i != last)) add(i, 1, per_dimension[i]);
  if (across >= 0) {
    const int64_t high = std::min<int64_t>(per_dimension[across], 16), wide = std::min<int64_t>(per_dimension[last], 4);
    add(across, high, (per_dimension[across] + high - 1) / high);
    add(last, wide, (per_dimension[last] + wide - 1) / wide);
    add(last, 1, wide);
    add(across, 1, high);
  }
  return boxes;
}

// One box: where it begins and how large it is.
struct Box {
  int64_t value[kMaxRank + 2];  // of the digits
  int64_t first[kMaxRank], extent[kMaxRank];
  int64_t points;  // 0 for a number that is no box

  template <int N> Box(const Boxes& boxes, const Iteration<N>& of, int64_t number) : extent{} {
    for (int j = boxes.digits - 1; j >= 0; number /= boxes.digit[j].count, --j)
      value[j] = number % boxes.digit[j].count;
    place(boxes, of);
  }
  template <int N> void next(const Boxes& boxes, const Iteration<N>& of) {
    for (int j = boxes.digits - 1; j >= 0; --j) {
      if (++value[j] < boxes.digit[j].count) break;
      value[j] = 0;
    }
    place(boxes, of);
  }

 private:
  template <int N> void place(const Boxes& boxes, const Iteration<N>& of) {
    std::fill_n(first, boxes.rank, 0);
    for (int j = 0; j < boxes.digits; ++j) {
      const Boxes::Digit& digit = boxes.digit[j];
      first[digit.dimension] += value[j] * digit.step * boxes.edge[digit.dimension];
    }
    points = 1;
    for (int i = 0; i < boxes.rank; ++i) {
      const int64_t size = std::clamp<int64_t>(of.extent[i] - first[i], 0, boxes.edge[i]);
      extent[i] = size;
      points *= size;
    }
  }
};

}  // namespace descend
