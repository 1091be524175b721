// SPDX-License-Identifier: MIT
// Rows of halves that begin at any element, on GPUs: a warp moves them two at a time, between words of global memory,
// which may have one element of each of two pairs, and pairs in shared memory.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cuda.cuh"

namespace descend::cuda {

// The words of a row that lie in global memory, of `columns` neighbours from `row` on.  Word number k has columns
// 2k - shift and 2k - shift + 1, of which the first and the last may not be the row's.
template <class Element> class PairsOfRow {
 public:
  static constexpr int kLines = static_cast<int>(kTile) / 64;  // of a tile: 32 words each
  static_assert(sizeof(Element) == 2);

  __device__ __forceinline__ PairsOfRow(Element* row, int columns)
      : row_(row), columns_(columns), shift_(static_cast<int>(reinterpret_cast<uintptr_t>(row) / 2 % 2)) {}

  // To pairs, tile(t) being where those of tile number t are.
  template <class Tile> __device__ __forceinline__ void read(const Tile& tile) const {
#pragma unroll 1
    for (int first = 0; first < columns_; first += static_cast<int>(kTile)) {
      const int mine = first + 2 * lane();
      uint32_t word[kLines + 1];
#pragma unroll
      for (int i = 0; i < kLines; ++i) word[i] = load(mine + i * 64);
      word[kLines] = shift_ != 0 && lane() == 0 ? load(mine + kLines * 64) : 0;
      Element* const to = tile(first / static_cast<int>(kTile)) + 2 * lane();
#pragma unroll
      for (int i = 0; i < kLines; ++i) {
        const int column = mine + i * 64;
        const uint32_t next = __shfl_sync(~0u, lane() == 0 ? word[i + 1] : word[i], (lane() + 1) % 32);
        const uint32_t pair = shift_ == 0 ? word[i] : word[i] >> 16 | next << 16;
        if (column + 1 < columns_)
          *reinterpret_cast<uint32_t*>(to + i * 64) = pair;
        else if (column < columns_)  // what is behind the last column stays
          to[i * 64] = std::bit_cast<Element>(static_cast<uint16_t>(pair));
      }
    }
  }
  // f() of pairs that are there.
  template <class Tile, class F> __device__ __forceinline__ void write(const Tile& tile, const F& f) const {
    uint32_t last = 0;  // pair of the line before
#pragma unroll 1
    for (int first = 0; first - shift_ < columns_; first += static_cast<int>(kTile)) {
      const Element* const from = tile(first / static_cast<int>(kTile)) + 2 * lane();
#pragma unroll 2
      for (int i = 0; i < kLines; ++i) {
        const int column = first + 2 * lane() + i * 64;
        uint32_t pair = 0;
        if (column < columns_) pair = f(*reinterpret_cast<const uint32_t*>(from + i * 64));
        const uint32_t before = __shfl_sync(~0u, lane() == 31 ? last : pair, (lane() + 31) % 32);
        last = pair;
        store(column, shift_ == 0 ? pair : before >> 16 | pair << 16);
      }
    }
  }

 private:
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  // The word whose first element is that of `column`, if the row does not begin within one.
  __device__ __forceinline__ uint32_t load(int column) const {
    const int c = column - shift_;
    if (c >= 0 && c + 1 < columns_) return *reinterpret_cast<const uint32_t*>(row_ + c);
    if (c + 1 == 0) return uint32_t{std::bit_cast<uint16_t>(row_[0])} << 16;
    return c < columns_ ? std::bit_cast<uint16_t>(row_[c]) : 0u;
  }
  __device__ __forceinline__ void store(int column, uint32_t word) const {
    const int c = column - shift_;
    if (c >= 0 && c + 1 < columns_)
      *reinterpret_cast<uint32_t*>(row_ + c) = word;
    else if (c + 1 == 0)
      row_[0] = std::bit_cast<Element>(static_cast<uint16_t>(word >> 16));
    else if (c < columns_)
      row_[c] = std::bit_cast<Element>(static_cast<uint16_t>(word));
  }

  Element* row_;
  int columns_, shift_;
};

}  // namespace descend::cuda
