// SPDX-License-Identifier: MIT
// How the warps of the gradient share rows that follow on each other: each has some pieces of 16 bytes, and a lane for
// each row that they are of.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_cuda.cuh"

namespace descend::cuda {
namespace {

constexpr int kLanes = 32;
constexpr int kRowThreads = 64;  // of a block
constexpr int kRowBlocks = 16;   // of a multiprocessor

// What a warp has.
enum class Has {
  kRows,      // whole ones, of whole pieces
  kPieces,    // of a row, or the end of one and the beginning of the next
  kElements,  // the same, but rows begin and end anywhere: a piece may be of two, or partly before or behind all rows
};
template <class Element, Has has>
constexpr int kPiecesOfLane = (has == Has::kRows && kHalves<Element>) ? 6 : 4;  // at most
struct Share {
  int elements;
  int rows;   // where it has whole ones
  int shift;  // elements of the first piece that are before the matrices; a row before the first would have them
};

// Where a warp is, and which lanes know the rows of its pieces.
struct Span {
  int begin, end;   // its elements, counted from where its first piece begins; all but where the matrices begin and end
  uint32_t in_row;  // the column of number 0
  uint32_t classes;
  Divisor by_classes;
};
template <class Element, bool kCross> struct RowsOfPiece {
  static constexpr uint32_t V = Vector<Element>::kCount;
  int one, other;          // their lanes
  uint32_t column, until;  // of the first element; elements from there on are of the other row

  __device__ __forceinline__ RowsOfPiece(const Span& span, int at) : column(span.in_row + static_cast<uint32_t>(at)) {
    one = static_cast<int>(span.by_classes.divide(column));
    until = span.classes - column;
    other = kCross && until < V ? one + 1 : one;
  }
  // A bit for each element that is its row's label.
  __device__ __forceinline__ uint32_t labels(uint32_t own) const {
    const auto bit = [](uint32_t place) { return place < V ? 1u << place : 0; };
    const uint32_t first = bit(__shfl_sync(~0u, own, one) - column);
    return kCross ? first | bit(__shfl_sync(~0u, own, other) + until) : first;
  }
};

}  // namespace
}  // namespace descend::cuda
