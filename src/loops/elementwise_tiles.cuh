// SPDX-License-Identifier: MIT
// Operands of one dtype of which some run across, as in a transposed matrix: these go through shared memory, so that
// every side is read along its memory.
#pragma once
#include "src/loops/elements.cuh"
#include "src/loops/evaluate.cuh"
#include "src/loops/launch.cuh"

namespace descend::cuda {

// Tiles of two dimensions: `x`, along which the output lies, and `y`, along which some inputs do.
enum class Way : int8_t { kAlongX, kAlongY, kNeither };
template <int N> struct Tiles {
  void* data[N];
  Way way[N];
  int8_t slot[N], slots = 0;  // in shared memory
  int64_t stride_x[N], stride_y[N];
  int64_t extent_x, extent_y;
  Divisor tiles_x, tiles_y;
  Places<N> outer;
};

template <class Element> inline constexpr int kSide = sizeof(Element) == 8 ? 32 : 64;  // of a tile

// A tile of an input that runs across, turned on the way through shared memory: what is read along y is put into as
// many rows along x, a word of `kPack` neighbours at a time, and a run of a row is got at once.  Where in its row a run
// is changes with y, so that threads keep off each other's banks.
template <class Element> struct Turned {
  using Run = Vector<Element>;
  using Word = std::conditional_t<sizeof(Element) == 8, uint64_t, uint32_t>;
  static constexpr int kSideOf = kSide<Element>, kPack = sizeof(Word) / sizeof(Element), kRuns = kSideOf / Run::kCount;
  Run rows[kSideOf][kRuns];

  __device__ __forceinline__ Run& at(int x, int y) { return rows[y][x / Run::kCount ^ y / Run::kCount % kRuns]; }
  // along[i] are the elements (x + i, y), (x + i, y + 1), ...
  __device__ __forceinline__ void put(int x, int y, const Run (&along)[kPack]) {
    Element* const to = &at(x, y).at[x % Run::kCount];  // the same place of every row: y begins a run
#pragma unroll
    for (int j = 0; j < Run::kCount; ++j) {
      Word word;
      if constexpr (kPack == 1)
        word = std::bit_cast<Word>(along[0].at[j]);
      else
        word = static_cast<Word>(along[0].at[j].bits) | static_cast<Word>(along[1].at[j].bits) << 16;
      *reinterpret_cast<Word*>(to + j * kSideOf) = word;
    }
  }
};

template <class T, class Element, int N, class F>
__global__ void __launch_bounds__(kThreads) run_tiles(const __grid_constant__ Tiles<N> tiles, F given) {
  const auto f = prepared(given);
  using Run = Vector<Element>;  // a thread's, of a row of a tile
  using Across = Turned<Element>;
  constexpr int side = kSide<Element>, kPerRow = side / Run::kCount, kRows = kThreads / kPerRow, kRounds = side / kRows;
  Across* const across = shared_memory<Across>();
  uint32_t tile_x = blockIdx.x, tile_y = tiles.tiles_x.divide(tile_x);
  int64_t offset[N] = {};
  tiles.outer.add(tiles.tiles_y.divide(tile_y), offset);
  const int64_t x0 = int64_t{tile_x} * side, y0 = int64_t{tile_y} * side;
  const int wide = static_cast<int>(tiles.extent_x - x0 < side ? tiles.extent_x - x0 : side);
  const int high = static_cast<int>(tiles.extent_y - y0 < side ? tiles.extent_y - y0 : side);
  const int thread = static_cast<int>(threadIdx.x), column = thread % kPerRow * Run::kCount, row = thread / kPerRow;
#pragma unroll
  for (int k = 0; k < N; ++k) offset[k] += x0 * tiles.stride_x[k] + y0 * tiles.stride_y[k];
  // What lies along x is asked for first; it is needed last.
  uint4 in[kRounds][N - 1];  // as words: the compiler takes elements apart as soon as it has them, and waits for that
#pragma unroll
  for (int k = 1; k < N; ++k) {
    if (tiles.way[k] == Way::kAlongY || column >= wide) continue;
    const Element* const from = static_cast<const Element*>(tiles.data[k]) + offset[k] + column * tiles.stride_x[k];
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      const int y = row + r * kRows;
      if (y >= high) break;
      const Element* const at = from + y * tiles.stride_y[k];
      if (tiles.way[k] == Way::kAlongX) {
        in[r][k - 1] = *reinterpret_cast<const uint4*>(at);
      } else {
        Run one_by_one;
#pragma unroll
        for (int i = 0; i < Run::kCount; ++i) one_by_one.at[i] = at[i * tiles.stride_x[k]];
        in[r][k - 1] = std::bit_cast<uint4>(one_by_one);
      }
    }
  }
#pragma unroll
  for (int k = 1; k < N; ++k) {
    if (tiles.way[k] != Way::kAlongY) continue;
    constexpr int kColumns = kRows * Across::kPack, kTimes = side / kColumns;
    const int y = column;
    const auto x_of = [&](int i) { return row * Across::kPack + i * kColumns; };
    const Element* const from = static_cast<const Element*>(tiles.data[k]) + offset[k] + y;
    Run along[kTimes][Across::kPack];
#pragma unroll
    for (int i = 0; i < kTimes; ++i)
      if (x_of(i) < wide && y < high)
#pragma unroll
        for (int j = 0; j < Across::kPack; ++j)
          along[i][j] = *reinterpret_cast<const Run*>(from + (x_of(i) + j) * tiles.stride_x[k]);
#pragma unroll
    for (int i = 0; i < kTimes; ++i)
      if (x_of(i) < wide && y < high) across[tiles.slot[k]].put(x_of(i), y, along[i]);
  }
  __syncthreads();
  if (column >= wide) return;
  Element* const to = static_cast<Element*>(tiles.data[0]) + offset[0] + column;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int y = row + r * kRows;
    if (y >= high) break;
#pragma unroll
    for (int k = 1; k < N; ++k)
      if (tiles.way[k] == Way::kAlongY)
        in[r][k - 1] = *reinterpret_cast<const uint4*>(&across[tiles.slot[k]].at(column, y));
    Run run[N - 1], out;
#pragma unroll
    for (int k = 0; k < N - 1; ++k) run[k] = std::bit_cast<Run>(in[r][k]);
    T result[Run::kCount];
    evaluate<T, N - 1>(
        f, [&](int k, int i) { return widen<T>(run[k].at[i]); }, result);
    narrow_all(result, out.at);
    store_at_once(to + y * tiles.stride_y[0], out);
  }
}

// Whether run_tiles can do it and is of use: some input lies along a dimension that is not the innermost.
template <class Element, int N>
bool as_tiles(const Iteration<N>& points, void* const* data, Tiles<N>& tiles, int64_t& count) {
  constexpr int64_t run = Vector<Element>::kCount;
  const int x = points.rank - 1;
  int y = -1;
  for (int k = 1; k < N && points.rank > 1; ++k)
    for (int i = 0; i < x; ++i)
      if (y < 0 && points.stride[k][i] == 1 && points.stride[k][x] != 1) y = i;
  if (y < 0 || points.stride[0][x] != 1) return false;
  if (points.extent[x] % run != 0 || points.extent[y] % run != 0) return false;
  Iteration<N> outer;
  count = 1;
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
  const int64_t wide = ceil_divide(tiles.extent_x, kSide<Element>), high = ceil_divide(tiles.extent_y, kSide<Element>);
  tiles.tiles_x = Divisor(wide);
  tiles.tiles_y = Divisor(high);
  tiles.outer = Places<N>(outer);
  count *= wide * high;
  return count <= INT32_MAX;
}

}  // namespace descend::cuda
