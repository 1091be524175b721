// SPDX-License-Identifier: MIT
// How warps share rows that follow on each other: each has some pieces of 16 bytes, and a lane for each row that they
// are of.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_cuda.cuh"

namespace descend::cuda {
namespace {

constexpr int kLanes = 32;
constexpr int kRowThreads = 64;  // of a block

// What a warp has.
enum class Has {
  kRows,      // whole ones, of whole pieces
  kPieces,    // of a row, or the end of one and the beginning of the next
  kElements,  // the same, but rows begin and end anywhere: a piece may be of two, or partly before or behind all rows
};
template <class Element, Has has>
constexpr int kPiecesOfLane = (kHalves<Element> && has != Has::kPieces) ? 6 : 4;  // at most
// Of a multiprocessor: those whose pieces may be of two rows need registers.
template <class Element, Has has> constexpr int kRowBlocks = (kHalves<Element> && has == Has::kElements) ? 12 : 16;
struct Share {
  int elements;
  int rows;   // where it has whole ones
  int shift;  // elements of the first piece that are before the matrices; a row before the first would have them
};

// Where a warp is: which elements it has, counted from where its first piece begins, and which lanes have their rows.
template <class Element, Has has> struct Span {
  static constexpr int V = Vector<Element>::kCount, kOfLane = kPiecesOfLane<Element, has>;
  static constexpr bool kCross = has == Has::kElements;
  int64_t classes, rows, warp, first;  // `first`: number 0, counted from the matrices' first element
  int begin, end;                      // all of them but where the matrices begin and end
  bool has_parts;                      // of pieces

  // After find_rows().
  int64_t row, begins;  // this lane's row, which need not be there, and where its column 0 would be
  uint32_t in_row;      // the column of number 0

  __device__ __forceinline__ Span(const CrossEntropyLabels& of, const Share& share)
      : classes(of.classes), rows(of.rows) {
    warp = (int64_t{blockIdx.x} * kRowThreads + threadIdx.x) / kLanes;
    first = warp * share.elements - share.shift;
    const int64_t left = rows * classes - first;
    begin = kCross && first < 0 ? share.shift : 0;
    end = static_cast<int>(left < 0 ? 0 : left < share.elements ? left : share.elements);
    has_parts = kCross && (begin != 0 || end % V != 0);
  }
  static __device__ __forceinline__ int place_of(int u) {
    return (static_cast<int>(threadIdx.x % kLanes) + u * kLanes) * V;
  }
  // Asks for this lane's pieces, if all are whole.
  __device__ __forceinline__ void load(const Element* matrix, uint4 (&in)[kOfLane]) const {
#pragma unroll
    for (int u = 0; u < kOfLane; ++u)
      if (place_of(u) < end && !has_parts) in[u] = *reinterpret_cast<const uint4*>(matrix + first + place_of(u));
  }
  __device__ __forceinline__ void find_rows(const Divisor& by_classes, const Share& share) {
    const int lane = static_cast<int>(threadIdx.x % kLanes);
    int64_t column = kCross ? first + classes : has == Has::kPieces ? first : 0;  // of the row before all, or the first
    row = (has == Has::kRows ? warp * share.rows : by_classes.divide(column) - (kCross ? 1 : 0)) + lane;
    in_row = static_cast<uint32_t>(column);
    begins = lane * classes - column;
  }
  __device__ __forceinline__ bool has_row() const { return row >= 0 && row < rows && begins < end; }
};
// The rows of the piece at a place.
template <class Element, bool kCross> struct RowsOfPiece {
  static constexpr uint32_t V = Vector<Element>::kCount;
  int one, other;          // their lanes
  uint32_t column, until;  // of the first element; elements from there on are of the other row

  template <class S>
  __device__ __forceinline__ RowsOfPiece(const S& span, const Divisor& by_classes, int at)
      : column(span.in_row + static_cast<uint32_t>(at)) {
    one = static_cast<int>(by_classes.divide(column));
    until = static_cast<uint32_t>(span.classes) - column;
    other = kCross && until < V ? one + 1 : one;
  }
  // A bit for the element that is its row's label, of pieces of one row.
  __device__ __forceinline__ uint32_t label(uint32_t own) const {
    static_assert(!kCross);
    const uint32_t place = __shfl_sync(~0u, own, one) - column;
    return place < V ? 1u << place : 0;
  }
};

}  // namespace
}  // namespace descend::cuda
