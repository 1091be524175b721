// SPDX-License-Identifier: MIT
// Sums in columns by the threads of a warp, as sums.h has them.
#pragma once
#include "src/loops/launch.cuh"
#include "src/loops/sums.h"

namespace descend::cuda {

// The sum of all columns, of which each of `columns` / V threads, `apart` in the warp, has V; in the first of them.  As
// many as of double whatever they are.
template <int V, int columns = static_cast<int>(kSumColumns<double>), int apart = 1, class Sum>
__device__ __forceinline__ Sum add_columns(Sum (&column)[V], unsigned group) {
#pragma unroll
  for (int width = columns / 2; width > 0; width /= 2) {
    if (width >= V) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        column[j] += __shfl_down_sync(group, column[j], static_cast<unsigned>(width / V * apart));
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j)  // as many times whatever the width: the compiler knows each place
        if (j < width) column[j] += column[(j + width) % V];
    }
  }
  return column[0];
}

// The threads that add one tile together, as a warp's bits, and the number of this one among them.
template <int V> struct TileGroup {
  static constexpr int kSize = static_cast<int>(kSumColumns<double>) / V;
  int rank = static_cast<int>(threadIdx.x) % kSize;
  unsigned mask = ((1u << kSize) - 1) << (threadIdx.x % 32 / kSize * kSize);
};

// The sum of n terms, in the group's first thread.  term(i, count, values) gives `count` <= V of them from number i on.
template <int V, class Term>
__device__ __forceinline__ double sum_tile(int n, const TileGroup<V>& group, const Term& term) {
  constexpr int kLanes = static_cast<int>(kSumColumns<double>);
  double column[V] = {};
#pragma unroll 4
  for (int i = group.rank * V; i < n; i += kLanes) {
    double value[V];
    const int count = n - i < V ? n - i : V;
    term(i, count, value);
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (j < count) column[j] += value[j];
  }
  return add_columns<V>(column, group.mask);
}
// The same in all of the group's threads, of at(0), ..., at(n - 1).
template <class At> __device__ __forceinline__ double sum_of(int n, const TileGroup<1>& group, const At& at) {
  const double sum = sum_tile<1>(n, group, [&](int i, int, double(&value)[1]) { value[0] = at(i); });
  return __shfl_sync(group.mask, sum, static_cast<int>(threadIdx.x) % 32 - group.rank);
}
// What SumOfSums makes of a group's n tiles, tile(0), ..., tile(n - 1).
template <class Tile>
__device__ __forceinline__ double sum_of_chunks(int n, const TileGroup<1>& group, const Tile& tile) {
  constexpr int kOfChunk = static_cast<int>(kTilesOfChunk);
  double column[1] = {};
  for (int first = 0; first < n; first += kOfChunk) {
    const double chunk =
        sum_of(n - first < kOfChunk ? n - first : kOfChunk, group, [&](int i) { return tile(first + i); });
    if (first / kOfChunk % TileGroup<1>::kSize == group.rank) column[0] += chunk;
  }
  return add_columns<1>(column, group.mask);
}

}  // namespace descend::cuda
