// SPDX-License-Identifier: MIT
// How a row of scores, or a part of one, is kept in shared memory on GPUs, and how a warp moves one that begins
// anywhere within a piece of 16 bytes.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cuda.cuh"

namespace descend::cuda {

// Memory moves sectors of 32 bytes, two pieces.  A row begins in the cache as far within one as in global memory, so
// that a warp's pieces are whole sectors: where they began between two, the loss of rows of 1004 FLOAT took 4 % longer.
template <class Element> inline constexpr int kSector = 2 * Vector<Element>::kCount;
template <class Element> __device__ __forceinline__ int shift_in_sector(const Element* at) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(at) / sizeof(Element) % kSector<Element>);
}

// Tiles in shared memory lie a little more than their size apart, so that groups do not meet in a bank.
inline constexpr int kSkew = 16, kWideTile = static_cast<int>(kTile) + kSkew;
template <class Index> __device__ __forceinline__ Index place_in_cache(Index c) {
  return c + c / static_cast<Index>(kTile) * kSkew;
}

// A warp moves so many lines of pieces at a time, for their places to be known before the run: whole tiles.  What there
// is of a cache is a multiple of it.
template <class Element> struct Lines {
  static constexpr int kLine = 32 * Vector<Element>::kCount, kLines = 4, kAtOnce = kLines * kLine;
  static_assert(kAtOnce % kTile == 0);
};

__device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % 32; }

// f of each element of a piece.
template <class Element, class F> __device__ __forceinline__ Vector<Element> piece_of(const Element* at, const F& f) {
  Vector<Element> piece = load_at_once<Vector<Element>>(at);
  float result[Vector<Element>::kCount];
  widen_all(piece, result);
#pragma unroll
  for (float& each : result) each = f(each);
  narrow_all(result, piece.at);
  return piece;
}

// Neighbours from number `shift` of a sector on, kept as they lie in global memory: whole pieces are moved, but the
// first and the last of what is written.  Pieces that begin a tile are kept behind the tile before it, too, so that the
// columns of a tile follow on each other from `shift` on.
template <class Element> class ShiftedRow {
  static constexpr int kPiece = Vector<Element>::kCount, kOfTile = static_cast<int>(kTile);
  static constexpr int kLine = Lines<Element>::kLine, kLines = Lines<Element>::kLines;
  static_assert(kSector<Element> <= kSkew && 3 * kPiece <= 32);

 public:
  __device__ __forceinline__ ShiftedRow(Element* cache, int columns, int shift)
      : cache_(cache), columns_(columns), shift_(shift), tiles_((columns - 1) / kOfTile + 1) {}

  // Begins to copy what lies at `from`; before it, its sector's elements, and behind it nothing.
  __device__ __forceinline__ void begin(const Element* from) const {
    const Element* const pieces = from - shift_;
    const int whole = end() / kPiece * kPiece, all_tiles = tiles_ * kOfTile, last = min(whole, all_tiles);
    for_lines(pieces, [&](const Element* at, Element* kept, int number) {
#pragma unroll
      for (int i = 0; i < kLines; ++i)
        if (i * kLine < last - number)
          begin_copy(reinterpret_cast<Vector<Element>*>(kept + place_in_cache(i * kLine)),
                     reinterpret_cast<const Vector<Element>*>(at + i * kLine));
    });
    // What is behind each tile, and what there is of the last piece.
#pragma unroll 1
    for (int i = lane_of_warp(); i <= 2 * tiles_; i += 32) {
      const bool is_last = i == 2 * tiles_;
      const int tile = i / 2, behind = i % 2 * kPiece;
      const int number = is_last ? whole : (tile + 1) * kOfTile + behind, left = end() - number;
      Element* const to = cache_ + (is_last ? place_in_cache(whole) : tile * kWideTile + kOfTile + behind);
      if (left > 0 && (is_last ? whole < all_tiles : behind < shift_))
        begin_copy(reinterpret_cast<Vector<Element>*>(to), reinterpret_cast<const Vector<Element>*>(pieces + number),
                   min(left, kPiece) * static_cast<int>(sizeof(Element)));
    }
  }
  // When the copies are there, before a __syncwarp(): what is not the row's, before it and as far behind it as a row
  // that was here may reach, is -Inf.
  __device__ __forceinline__ void close() const {
    const int lane = lane_of_warp(), in_tile = end() - (tiles_ - 1) * kOfTile + lane;
    const auto none = narrow<Element>(-std::numeric_limits<float>::infinity());
    if (lane < shift_) cache_[lane] = none;
    if (in_tile < kWideTile) cache_[(tiles_ - 1) * kWideTile + in_tile] = none;
  }
  // Writes f of all to where the row begins as far within a piece.
  template <class F> __device__ __forceinline__ void write(Element* to, const F& f) const {
    Element* const pieces = to - shift_;
    const int last = min(end(), tiles_ * kOfTile) - kPiece;
    for_lines(pieces, [&](Element* at, const Element* kept, int number) {
#pragma unroll
      for (int i = 0; i < kLines; ++i) {
        const Vector<Element> piece = piece_of(kept + place_in_cache(i * kLine), f);
        store_at_once(at + i * kLine, piece, i * kLine <= last - number && (i > 0 || number >= shift_));
      }
    });
    // What is left of the first piece, and behind the last whole one, or behind the tiles.
    const int lane = lane_of_warp(), rest = min(end() / kPiece * kPiece, tiles_ * kOfTile);
    const int number = lane < kPiece ? shift_ / kPiece * kPiece + lane : rest + lane - kPiece;
    if (lane < 3 * kPiece && number >= shift_ && number < end() && (lane >= kPiece || shift_ % kPiece != 0))
      pieces[number] = narrow<Element>(f(widen<float>(cache_[place_in_cache(number - shift_) + shift_])));
  }

 private:
  __device__ __forceinline__ int end() const { return shift_ + columns_; }
  // f(at, kept, number) for this lane's pieces of all tiles, kLines lines at a time: where the first of them is among
  // the pieces, and in the cache, and the number of its first element.
  template <class At, class F> __device__ __forceinline__ void for_lines(At* pieces, const F& f) const {
    int number = lane_of_warp() * kPiece;
    At* at = pieces + number;
    Element* kept = cache_ + number;
#pragma unroll 1
    for (int done = 0; done < tiles_ * kOfTile; done += Lines<Element>::kAtOnce) {
      f(at, kept, number);
      number += Lines<Element>::kAtOnce;
      at += Lines<Element>::kAtOnce;
      kept += place_in_cache(Lines<Element>::kAtOnce);
    }
  }

  Element* const cache_;
  const int columns_, shift_, tiles_;
};

}  // namespace descend::cuda
