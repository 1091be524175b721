// SPDX-License-Identifier: MIT
// What the kernels of rows longer than a tile do alike on GPUs: reading and writing a block's part of a row, and adding
// the rows' losses.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"

namespace descend::cuda {

inline constexpr int kLongThreads = 256;
static_assert(kLongThreads >= kLeastThreads);

// Tiles in shared memory lie a little more than their size apart, so that groups do not meet in a bank.
inline constexpr int kSkew = 16;
template <class Index> __device__ __forceinline__ Index place_in_cache(Index c) {
  return c + c / static_cast<Index>(kTile) * kSkew;
}

// A row's scores from the first tile of this block on: in shared memory or where they are.
template <class Element, bool cached> struct PartOfRow {
  using Index = std::conditional_t<cached, int, int64_t>;  // what is kept in shared memory is not so long
  static constexpr int kPiece = Vector<Element>::kCount;
  const Element* from;
  int64_t stride;
  Element* cache;
  Index columns;

  // Begins to copy all into the cache, where that can be done at once: registers would hold a few only.
  __device__ __forceinline__ void begin(bool in_vectors) const {
    if (!cached || !in_vectors) return;
#pragma unroll 4
    for (Index c = static_cast<int>(threadIdx.x) * kPiece; c < columns; c += kLongThreads * kPiece)
      begin_copy(reinterpret_cast<Vector<Element>*>(cache + place_in_cache(c)),
                 reinterpret_cast<const Vector<Element>*>(from + c));
  }
  // After begin().  Reads all, into the cache if there is one, and returns the largest of this thread's.
  __device__ __forceinline__ float read(bool in_vectors) const {
    float most = -std::numeric_limits<float>::infinity();
    if (in_vectors) {
      Vector<Element> at_place;
      for (Element& each : at_place.at) each = narrow<Element>(most);
      if (cached) wait_for_copies();
#pragma unroll 4
      for (Index c = static_cast<int>(threadIdx.x) * kPiece; c < columns; c += kLongThreads * kPiece)
        keep_larger(at_place.at, load_at_once<Vector<Element>>(cached ? cache + place_in_cache(c) : from + c).at);
#pragma unroll
      for (const Element each : at_place.at) most = std::fmax(most, widen<float>(each));
    } else {
      for (Index c = static_cast<int>(threadIdx.x); c < columns; c += kLongThreads) {
        const Element one = from[c * stride];
        if (cached) cache[place_in_cache(c)] = one;
        most = std::fmax(most, widen<float>(one));
      }
    }
    return most;
  }
  __device__ __forceinline__ void write(const LogProb& log_prob, Element* to, int64_t to_stride,
                                        bool in_vectors) const {
    if (in_vectors) {
#pragma unroll 2
      for (Index c = static_cast<int>(threadIdx.x) * kPiece; c < columns; c += kLongThreads * kPiece) {
        Vector<Element> piece = load_at_once<Vector<Element>>(cached ? cache + place_in_cache(c) : from + c);
        float result[kPiece];
#pragma unroll
        for (int i = 0; i < kPiece; ++i) result[i] = log_prob(widen<float>(piece.at[i]));
        narrow_all(result, piece.at);
        store_at_once(to + c, piece);
      }
    } else {
      for (Index c = static_cast<int>(threadIdx.x); c < columns; c += kLongThreads)
        to[c * to_stride] =
            narrow<Element>(log_prob(widen<float>(cached ? cache[place_in_cache(c)] : from[c * stride])));
    }
  }
};

// The losses of the rows so far, which one thread adds, and what the last one's is made of.  In shared memory: no other
// thread needs registers for it.
template <class Element> struct RowsSoFar {
  static constexpr int kColumns = static_cast<int>(kSumColumns<double>);
  double column[kLists][kColumns] = {};  // of the part that is not at its end
  int counted = 0;
  typename Loss<Element>::Label label;
  Scores scores;
  double log_sum = 0;

  __device__ void add(const Loss<Element>& l, int64_t row) {
    const RowLoss of_row = l.finish(row, label, scores, log_sum);
    counted += of_row.counted;
    const int64_t in_part = row & (l.cut.per_part - 1);
    const bool ends_part = in_part == l.cut.per_part - 1 || row + 1 == l.a.labels.rows;
    keep(l, kLosses, row, of_row.loss, in_part, ends_part);
    if (l.a.shows_lse()) keep(l, kZlosses, row, of_row.zloss, in_part, ends_part);
  }

 private:
  __device__ void keep(const Loss<Element>& l, int list, int64_t row, double x, int64_t in_part, bool ends_part) {
    double* const sum = column[list];
    if (l.cut.per_part > 1) {
      sum[in_part % kColumns] += x;
      if (!ends_part) return;
#pragma unroll 1
      for (int width = kColumns / 2; width > 0; width /= 2)
#pragma unroll 1
        for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
      x = sum[0];
#pragma unroll 1
      for (int i = 0; i < kColumns; ++i) sum[i] = 0;
    }
    l.keep_sum(list, l.cut.part_of(row), x);
  }
};

__device__ __forceinline__ float largest_of_lanes(float most) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) most = std::fmax(most, __shfl_xor_sync(~0u, most, step));
  return most;
}

}  // namespace descend::cuda
