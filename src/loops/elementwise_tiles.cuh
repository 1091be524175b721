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
  int side;
  int of_group;  // tiles
  Divisor groups_x, tiles_y;
  Places<N> outer;
};

// The side of a tile: rows of 256 bytes, 4 % faster for halves than 128, where extents are larger than small tiles.
template <class Element> inline constexpr int kSide = sizeof(Element) == 8 ? 32 : 64;
template <class Element> inline constexpr int kLargeSide = 256 / sizeof(Element);
template <int side> inline constexpr int kTileThreads = side > 64 ? 512 : 256;
template <class Element, int side>  // of a multiprocessor: as many as leave registers for what is on its way
inline constexpr int kTileBlocks = side > 64              ? 1
                                   : sizeof(Element) == 2 ? 3
                                                          : 2;

// A tile of an input that runs across, turned on the way through shared memory: what is read along y is put into as
// many rows along x, a word of `kPack` neighbours at a time, and a run of a row is got at once.  Where in its row a run
// is changes with y, so that threads keep off each other's banks.
template <class Element, int side> struct Turned {
  using Run = Vector<Element>;
  using Word = std::conditional_t<sizeof(Element) == 8, uint64_t, uint32_t>;
  static constexpr int kPack = sizeof(Word) / sizeof(Element), kRuns = side / Run::kCount;
  Run rows[side][kRuns];

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
      *reinterpret_cast<Word*>(to + j * side) = word;
    }
  }
};

// A block goes over tiles that are neighbours along x.  While it computes one the next is on its way, in registers: of
// an operand along x its runs, of one along y what is then put into shared memory, in turns into one of two places.
//
// `ways` has a bit for each operand that is along y, the others are along x; kAnyWays: only the run knows.
inline constexpr int kAnyWays = -1;
template <class T, class Element, int N, int ways, int side, class F>
__global__ void __launch_bounds__(kTileThreads<side>, kTileBlocks<Element, side>)
    run_tiles(const __grid_constant__ Tiles<N> tiles, F given) {
  const auto f = prepared(given);
  using Run = Vector<Element>;  // a thread's, of a row of a tile
  using Across = Turned<Element, side>;
  constexpr int kPerRow = side / Run::kCount, kRows = kTileThreads<side> / kPerRow, kRuns = side / kRows;
  constexpr int kPack = Across::kPack, kColumns = kRows * kPack;
  uint32_t group = blockIdx.x, tile_y = tiles.groups_x.divide(group);
  int64_t offset[N] = {};
  tiles.outer.add(tiles.tiles_y.divide(tile_y), offset);
  const int64_t x0 = int64_t{group} * tiles.of_group * side, y0 = int64_t{tile_y} * side;
  const int high = static_cast<int>(tiles.extent_y - y0 < side ? tiles.extent_y - y0 : side);
  const int thread = static_cast<int>(threadIdx.x), along = thread % kPerRow * Run::kCount, row = thread / kPerRow;
  const auto is = [&](int k, Way way) {
    return ways == kAnyWays ? tiles.way[k] == way : way == (ways >> k & 1 ? Way::kAlongY : Way::kAlongX);
  };
  const auto is_along_y = [&](int k) { return is(k, Way::kAlongY); };

  // Where the thread's first run of each input is.
  const Element* from[N - 1];
#pragma unroll
  for (int k = 1; k < N; ++k) {
    const int x = is_along_y(k) ? row * kPack : along, y = is_along_y(k) ? along : row;
    from[k - 1] = static_cast<const Element*>(tiles.data[k]) + offset[k] + (x0 + x) * tiles.stride_x[k] +
                  (y0 + y) * tiles.stride_y[k];
  }
  Element* to = static_cast<Element*>(tiles.data[0]) + offset[0] + x0 + along + (y0 + row) * tiles.stride_y[0];

  uint4 next[N - 1][kRuns];  // as words: the compiler takes elements apart as soon as it has them, and waits for that
  const auto ask_for_next = [&](int64_t wide) {
#pragma unroll
    for (int k = 1; k < N; ++k) {
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        if (is_along_y(k)) {
          const int x = r / kPack * kColumns + r % kPack;
          if (row * kPack + x < wide && along < high)
            next[k - 1][r] = *reinterpret_cast<const uint4*>(from[k - 1] + x * tiles.stride_x[k]);
        } else if (along < wide && row + r * kRows < high) {
          const Element* const at = from[k - 1] + r * kRows * tiles.stride_y[k];
          if (is(k, Way::kAlongX)) {
            next[k - 1][r] = *reinterpret_cast<const uint4*>(at);
          } else {
            Run one_by_one;
#pragma unroll
            for (int i = 0; i < Run::kCount; ++i) one_by_one.at[i] = at[i * tiles.stride_x[k]];
            next[k - 1][r] = std::bit_cast<uint4>(one_by_one);
          }
        }
      }
      from[k - 1] += side * tiles.stride_x[k];
    }
  };

  int64_t wide = tiles.extent_x - x0;
  ask_for_next(wide);
  Across* across = shared_memory<Across>();
  Across* other = across + tiles.slots;
  for (int left = tiles.of_group; left > 0 && wide > 0; --left, wide -= side, to += side) {
    uint4 in[N - 1][kRuns];
#pragma unroll
    for (int k = 1; k < N; ++k) {
#pragma unroll
      for (int r = 0; r < kRuns; ++r) in[k - 1][r] = next[k - 1][r];
      if (!is_along_y(k) || along >= high) continue;
#pragma unroll
      for (int r = 0; r < kRuns; r += kPack) {
        const int x = row * kPack + r / kPack * kColumns;
        Run runs[kPack];
#pragma unroll
        for (int j = 0; j < kPack; ++j) runs[j] = std::bit_cast<Run>(next[k - 1][r + j]);
        if (x < wide) across[tiles.slot[k]].put(x, along, runs);
      }
    }
    __syncthreads();
    if (left > 1) ask_for_next(wide - side);
    if (along < wide) {
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        const int y = row + r * kRows;
        if (y >= high) break;
        Run run[N - 1], out;
#pragma unroll
        for (int k = 1; k < N; ++k)
          if (is_along_y(k))
            run[k - 1] = across[tiles.slot[k]].at(along, y);
          else
            run[k - 1] = std::bit_cast<Run>(in[k - 1][r]);
        T result[Run::kCount];
        evaluate<T, N - 1>(
            f, [&](int k, int i) { return widen<T>(run[k].at[i]); }, result);
        narrow_all(result, out.at);
        store_at_once(to + r * kRows * tiles.stride_y[0], out);
      }
    }
    Across* const done = across;
    across = other, other = done;
  }
}

}  // namespace descend::cuda
