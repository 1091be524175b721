// SPDX-License-Identifier: MIT
// Whether, and how, an iteration goes in tiles: elementwise_tiles.cuh.
#pragma once
#include <algorithm>

#include "src/loops/elementwise_tiles.cuh"

namespace descend::cuda {

// The operands' ways where a kernel knows them: there is one input, or one of two is along y.
template <int N> int known_ways(const Tiles<N>& tiles) {
  if (N == 2) return 2;
  if (N == 3 && tiles.way[1] == Way::kAlongY && tiles.way[2] == Way::kAlongX) return 2;
  if (N == 3 && tiles.way[1] == Way::kAlongX && tiles.way[2] == Way::kAlongY) return 4;
  return kAnyWays;
}

// Whether run_tiles can do it and is of use: some input lies along a dimension that is not the innermost.  `blocks` are
// enough for the card; so many it then takes.
template <class Element, int N>
bool as_tiles(const Iteration<N>& points, void* const* data, Tiles<N>& tiles, int64_t& blocks) {
  constexpr int64_t run = Vector<Element>::kCount;
  const int x = points.rank - 1;
  int y = -1;
  for (int k = 1; k < N && points.rank > 1; ++k)
    for (int i = 0; i < x; ++i)
      if (y < 0 && points.stride[k][i] == 1 && points.stride[k][x] != 1) y = i;
  if (y < 0 || points.stride[0][x] != 1) return false;
  if (points.extent[x] % run != 0 || points.extent[y] % run != 0) return false;
  Iteration<N> outer;
  int64_t count = 1;
  for (int i = 0; i < x; ++i) {
    if (i == y) continue;
    outer.extent[outer.rank] = points.extent[i];
    count *= points.extent[i];
    for (int k = 0; k < N; ++k) outer.stride[k][outer.rank] = points.stride[k][i];
    ++outer.rank;
  }
  for (int k = 0; k < N; ++k) {
    tiles.data[k] = data[k];
    tiles.stride_x[k] = points.stride[k][x];
    tiles.stride_y[k] = points.stride[k][y];
    tiles.way[k] = tiles.stride_x[k] == 1 ? Way::kAlongX : tiles.stride_y[k] == 1 ? Way::kAlongY : Way::kNeither;
    if (tiles.way[k] == Way::kNeither) continue;
    if (tiles.way[k] == Way::kAlongY) tiles.slot[k] = tiles.slots++;
    if (!is_aligned(data[k])) return false;
    const int own = tiles.way[k] == Way::kAlongX ? x : y;
    for (int i = 0; i <= x; ++i)
      if (i != own && points.stride[k][i] % run != 0) return false;
  }
  tiles.extent_x = points.extent[x];
  tiles.extent_y = points.extent[y];
  constexpr int small = kSide<Element>;
  const bool large = known_ways(tiles) != kAnyWays && tiles.extent_x > small && tiles.extent_y > small;
  tiles.side = large ? kLargeSide<Element> : small;
  const int64_t wide = ceil_divide(tiles.extent_x, tiles.side), high = ceil_divide(tiles.extent_y, tiles.side);
  constexpr int64_t kMostOfGroup = sizeof(Element) == 2 ? 8 : 4;  // 8 of float are 1 % slower, 4 of halves 3 %
  tiles.of_group = static_cast<int>(std::clamp<int64_t>(wide * high * count / blocks, 1, std::min(kMostOfGroup, wide)));
  tiles.groups_x = Divisor(ceil_divide(wide, tiles.of_group));
  tiles.tiles_y = Divisor(high);
  tiles.outer = Places<N>(outer);
  blocks = ceil_divide(wide, tiles.of_group) * high * count;
  return blocks <= INT32_MAX;
}

// Runs them; false where the card has too little shared memory.
template <class T, class Element, int N, class F>
bool start_tiles(const Tiles<N>& tiles, int64_t blocks, const F& f, const CudaLaunch& on, Status& status) {
  const auto run = [&]<int ways, int side> {
    const size_t bytes = 2 * tiles.slots * sizeof(Turned<Element, side>);
    if (bytes > static_cast<size_t>(on.shared_memory)) return false;
    status = start(on, run_tiles<T, Element, N, ways, side, F>, blocks, kTileThreads<side>, bytes, tiles, f);
    return true;
  };
  const auto with = [&]<int ways> {
    if (tiles.side == kSide<Element>) return run.template operator()<ways, kSide<Element>>();
    return run.template operator()<ways, kLargeSide<Element>>();
  };
  const int ways = known_ways(tiles);
  if constexpr (N == 2 || N == 3)
    if (ways == 2) return with.template operator()<2>();
  if constexpr (N == 3)
    if (ways == 4) return with.template operator()<4>();
  if constexpr (N != 2) return run.template operator()<kAnyWays, kSide<Element>>();
  return false;
}

}  // namespace descend::cuda
