// SPDX-License-Identifier: MIT
// What the kernels of rows longer than a tile do alike on GPUs: a warp reads, adds up and writes a part of a row
// (CrossEntropyParts).
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_cache_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_quick_sum_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"

namespace descend::cuda {

inline constexpr int kLongWarps = 8, kLongThreads = kLongWarps * 32;

__device__ __forceinline__ float largest_of_lanes(float most) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) most = std::fmax(most, __shfl_xor_sync(~0u, most, step));
  return most;
}

// What is known of a part, as cross_entropy_loss_parts_cpu-inl.h has it, but that a part of nothing but -Inf has
// kLeastMost, 0 times: differences to -Inf would be NaN.
struct PartScores {
  struct alignas(8) Most {
    float score;
    int times;
  };
  Most most;
  double below;
};
inline constexpr float kLeastMost = std::numeric_limits<float>::lowest();

// The row's, of its parts', kMost at most, by a warp.
template <int kMost> __device__ __forceinline__ Scores scores_of_row(const PartScores* parts, int count) {
  constexpr int kOfLane = (kMost - 1) / 32 + 1, kColumns = TileGroup<1>::kSize;
  static_assert(32 == 2 * kColumns);
  PartScores part[kOfLane];
  Scores row;
#pragma unroll
  for (int i = 0; i < kOfLane; ++i) {
    const int k = lane_of_warp() + i * 32;
    part[i] = k < count ? parts[k] : PartScores{{kLeastMost, 0}, 0};
    row.most = std::fmax(row.most, part[i].most.score);
  }
  row.most = largest_of_lanes(row.most);
  double column[1] = {};
#pragma unroll
  for (int i = 0; i < kOfLane; ++i) {
    const bool has_most = part[i].most.score == row.most;
    const double factor = exp(Lane<double>{}, double{part[i].most.score} - double{row.most});
    if (has_most) row.times += part[i].most.times;
    const double term = has_most ? part[i].below : factor * (part[i].most.times + part[i].below);
    column[0] += term;
    column[0] += __shfl_down_sync(~0u, term, kColumns);
  }
  row.times = add_lanes(row.times);  // more than 2^31 of a row that is not kept
  row.below = __shfl_sync(~0u, add_columns<1>(column, ~0u), 0);
  return row;
}

// A part of a row, by a warp: in shared memory or where it is.
template <class Element, RowsAre rows_are, bool cached> struct PartOfRow {
  using Index = std::conditional_t<cached, int, int64_t>;  // what is kept in shared memory is not so long
  static constexpr int kPiece = Vector<Element>::kCount;
  const Element* from;
  int64_t stride;
  Element* cache;
  Index columns;
  RowsAre are;

  __device__ __forceinline__ bool lies(RowsAre so) const {
    return (rows_are == RowsAre::kAnyhow ? are : rows_are) == so;
  }
  __device__ __forceinline__ bool in_pieces() const { return lies(RowsAre::kInPieces); }
  __device__ __forceinline__ bool is_shifted() const { return cached && lies(RowsAre::kTogether); }
  __device__ __forceinline__ int shift() const { return is_shifted() ? shift_in_sector(from) : 0; }
  __device__ __forceinline__ ShiftedRow<Element> shifted() const { return {cache, static_cast<int>(columns), shift()}; }

  // f(at, kept) for each of this lane's pieces: where it is in a row that begins at `row`, and in the cache.  Lines are
  // done several at a time, for their places to be known before the run.
  template <class At, class F> __device__ __forceinline__ void for_pieces(At* row, const F& f) const {
    constexpr int kLine = Lines<Element>::kLine, kLines = Lines<Element>::kLines;
    const int mine = lane_of_warp() * kPiece;
    At* at = row + mine;
    Element* kept = cache + mine;
    Index done = 0;
#pragma unroll 1
    for (; done + kLines * kLine <= columns; done += kLines * kLine) {
#pragma unroll
      for (int i = 0; i < kLines; ++i) f(at + i * kLine, kept + place_in_cache(i * kLine));
      at += kLines * kLine;
      kept += place_in_cache(kLines * kLine);
    }
#pragma unroll
    for (int i = 0; i < kLines; ++i)
      if (done + i * kLine + mine < columns) f(at + i * kLine, kept + place_in_cache(i * kLine));
  }
  // f(next, kept, is_there) for kLines of this lane's elements at a time: next() is where the next one is in the row.
  template <int kLines, class At, class F>
  __device__ __forceinline__ void for_elements(At* row, int64_t row_stride, const F& f) const {
    static_assert(kTile % (kLines * 32) == 0);
    const int lane = lane_of_warp();
    const int64_t apart = 32 * row_stride;
    At* at = row + lane * row_stride;
    const auto next = [&] {
      At* const now = at;
      at += apart;
      return now;
    };
#pragma unroll 1
    for (Index done = 0; done < columns; done += kLines * 32)
      f(next, cache + place_in_cache(done) + lane, [&](int i) { return done + i * 32 + lane < columns; });
  }
  // Begins to copy all into the cache, where that can be done at once: registers would hold a few only.
  static constexpr bool kCopiesElements = sizeof(Element) == 4;  // one by one
  __device__ __forceinline__ void begin() const {
    if (!cached) return;
    if (is_shifted()) {
      shifted().begin(from);
    } else if (in_pieces()) {
      for_pieces(from, [](const Element* at, Element* kept) {
        begin_copy(reinterpret_cast<Vector<Element>*>(kept), reinterpret_cast<const Vector<Element>*>(at));
      });
    } else if constexpr (kCopiesElements) {
      constexpr int kLines = 8;
      for_elements<kLines>(from, stride, [](const auto& next, Element* kept, const auto& is_there) {
#pragma unroll
        for (int i = 0; i < kLines; ++i)
          if (const Element* const at = next(); is_there(i)) begin_copy(kept + i * 32, at);
      });
    }
  }
  // After begin(): all is in the cache, for the whole warp.
  __device__ __forceinline__ void end() const {
    copy_rest();
    wait_for_copies();
    __syncwarp();
    if (!is_shifted()) return;
    shifted().close();
    __syncwarp();
  }
  // What begin() did not: several at a time, one by one.
  __device__ __forceinline__ void copy_rest() const {
    if (kCopiesElements || !lies(RowsAre::kAnyhow)) return;
    constexpr int kLines = 4;
    for_elements<kLines>(from, stride, [](const auto& next, Element* kept, const auto& is_there) {
      Element some[kLines];
#pragma unroll
      for (int i = 0; i < kLines; ++i)
        if (const Element* const at = next(); is_there(i)) some[i] = *at;
#pragma unroll
      for (int i = 0; i < kLines; ++i)
        if (is_there(i)) kept[i * 32] = some[i];
    });
  }
  // Puts -Inf behind the last column, up to `end`, where no copy changes it; a shifted row has its own.
  __device__ __forceinline__ void pad(Index end) const {
    if (is_shifted()) return;
    for (Index c = columns + lane_of_warp(); c < end; c += 32)
      cache[place_in_cache(c)] = narrow<Element>(-std::numeric_limits<float>::infinity());
  }
  // The largest; in a cache after end(), and where whole pieces are padded.
  __device__ __forceinline__ float largest() const {
    float most = kLeastMost;
    Vector<Element> at_place;
    for (Element& each : at_place.at) each = narrow<Element>(-std::numeric_limits<float>::infinity());
    for_all([&](const Element* piece) { keep_larger(at_place.at, load_at_once<Vector<Element>>(piece).at); },
            [&](Element x) { most = std::fmax(most, widen<float>(x)); });
#pragma unroll
    for (const Element each : at_place.at) most = std::fmax(most, widen<float>(each));
    return largest_of_lanes(most) + 0.0f;
  }
  // How many scores of tile number `tile` are added; none behind the last.
  __device__ __forceinline__ int width(Index tile) const {
    const Index left = columns - tile * static_cast<Index>(kTile);
    return static_cast<int>(left <= 0 ? 0 : left < kTile ? left : static_cast<Index>(kTile));
  }
  static constexpr RowsAre kTilesAre = !cached                          ? RowsAre::kAnyhow
                                       : rows_are == RowsAre::kInPieces ? RowsAre::kInPieces
                                                                        : RowsAre::kTogether;
  __device__ __forceinline__ TileScores<Element, kTilesAre> tile(Index number) const {
    if constexpr (cached) return {cache + number * kWideTile + shift(), 1};
    return {from + number * kTile * stride, stride};
  }
  // The sum of of_tile(number, width, group) over the tiles, in columns, in lane 0: a group of threads has a tile, and
  // of_tile's result is in its first.
  template <int V, class OfTile> __device__ __forceinline__ double sum_tiles(const OfTile& of_tile) const {
    constexpr int kGroups = 32 / TileGroup<V>::kSize;
    constexpr int kSums = static_cast<int>(kSumColumns<double>) / kGroups;
    const TileGroup<V> group;
    double sums[kSums] = {};  // of every kSums-th tile of this group; the next one's is the first
    const auto keep = [&](double next) {
#pragma unroll
      for (int k = 1; k < kSums; ++k) sums[k - 1] = sums[k];
      sums[kSums - 1] = next;
    };
    int rounds = 0;
#pragma unroll 1
    for (Index number = lane_of_warp() / TileGroup<V>::kSize; rounds * kGroups * kTile < columns; ++rounds) {
      const int n = width(number);
      keep(n > 0 ? sums[0] + of_tile(number, n, group) : sums[0]);
      number += kGroups;
    }
    __syncwarp();
    if (rounds == 1) {
      sums[0] = sums[kSums - 1];
    } else {
#pragma unroll 1
      for (; rounds % kSums != 0; ++rounds) keep(sums[0]);
#pragma unroll
      for (int apart = kSums / 2; apart > 0; apart /= 2)
#pragma unroll
        for (int k = 0; k < apart; ++k) sums[k] += sums[k + apart];
    }
#pragma unroll
    for (int apart = kGroups / 2; apart > 0; apart /= 2)
      sums[0] += __shfl_down_sync(~0u, sums[0], static_cast<unsigned>(apart * TileGroup<V>::kSize));
    return sums[0];
  }
  // After largest(), which found `most`; the sum is lane 0's.  is_row: the part is the whole row.
  template <bool shows_lse, int V> __device__ __forceinline__ PartScores sum(float most, bool is_row) const {
    int times = 0;
    double below;
    if constexpr (kSumsQuickly<Element, shows_lse>) {
      constexpr int kUsualPart = CrossEntropyParts::kLeast / 2;  // of halves
      // FLOAT16's kernels have no registers for rows that lie together (measured).
      constexpr RowsAre kExactly =
          std::is_same_v<Element, float16> && kTilesAre == RowsAre::kTogether ? RowsAre::kAnyhow : kTilesAre;
      QuickSum<Element> sum(most);
      for_all([&](const Element* piece) { sum.add(load_at_once<Vector<Element>>(piece)); },
              [&](Element x) { sum.add_one(x); });
      times = sum.times;
      const double quick = sum.total(add_lanes(sum.sum));
      below = kept_sum<Element>(quick, true, is_row, columns <= kUsualPart ? 12 : 32, [&] {
        return sum_tiles<V>([&](Index number, int n, const TileGroup<V>&) {
          const auto scores = tile(number);
          return exact_sum<V>(n, TileScores<Element, kExactly>{scores.at, scores.stride}, most);
        });
      });
    } else {
      below = sum_tiles<V>([&](Index number, int n, const TileGroup<V>& group) {
        return sum_exponentials(n, group, tile(number), most, times);
      });
      below *= ExpBelow<Element>{most}.factor();
    }
    return {{most, add_lanes(times)}, below};
  }
  __device__ __forceinline__ void write(LogProb log_prob, Element* to, int64_t to_stride) const {
    if (is_shifted()) {
      with_log_prob<sizeof(Element) == 2>(log_prob, [&](const auto& f) { shifted().write(to, f); });
    } else if (in_pieces()) {
      with_log_prob<sizeof(Element) == 2>(log_prob, [&](const auto& f) {
        for_pieces(to, [&](Element* at, const Element* kept) {
          store_at_once(at, piece_of(cached ? kept : from + (at - to), f));
        });
      });
    } else if (cached) {
      constexpr int kLines = 4;
      for_elements<kLines>(to, to_stride, [&](const auto& next, const Element* kept, const auto& is_there) {
#pragma unroll
        for (int i = 0; i < kLines; ++i)
          if (Element* const at = next(); is_there(i)) *at = narrow<Element>(log_prob(widen<float>(kept[i * 32])));
      });
    } else {
      for (Index c = lane_of_warp(); c < columns; c += 32)
        to[c * to_stride] = narrow<Element>(log_prob(widen<float>(from[c * stride])));
    }
  }

 private:
  // look_at(piece) for this lane's pieces, or of a row that has none look_at_one(x) for its elements.
  template <class LookAt, class LookAtOne>
  __device__ __forceinline__ void for_all(const LookAt& look_at, const LookAtOne& look_at_one) const {
    if (!cached && !in_pieces()) {
      for (Index c = lane_of_warp(); c < columns; c += 32) look_at_one(from[c * stride]);
    } else if (!is_shifted()) {
      for_pieces(from, [&](const Element* at, const Element* kept) { look_at(cached ? kept : at); });
    } else {
      constexpr int kOfTile = static_cast<int>(kTile), kLine = Lines<Element>::kLine;
      const int mine = lane_of_warp() * kPiece;
      const Element* at = cache + mine;
      int left = static_cast<int>(columns);
      for (; left > kOfTile; left -= kOfTile, at += kWideTile)  // what is behind the tile belongs to the next one
#pragma unroll
        for (int c = 0; c < kOfTile; c += kLine) look_at(at + c);
      for (int c = 0; mine + c < shift() + left; c += kLine) look_at(at + c);
    }
  }
};

}  // namespace descend::cuda
