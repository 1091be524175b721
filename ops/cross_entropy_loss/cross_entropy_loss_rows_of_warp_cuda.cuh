// SPDX-License-Identifier: MIT
// Rows longer than a tile, of one part or a few, on GPUs: what a warp does with its own.  It has a part in its shared
// memory, or as many shorter rows as there is room for, and adds up all tiles at once, a group of lanes each.
#pragma once
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_row_shares_cuda.cuh"

namespace descend::cuda {

// What a warp has of each round: a part of a row, or so many rows, in its shared memory.
template <class Element, RowsAre rows_are, bool may_smooth> class RowsOfWarp {
  using P = PartRows<Element>;
  static constexpr int V = P::V, kPiece = Vector<Element>::kCount;
  using Lanes = LanesOfRow<V>;
  static constexpr int kLanes = Lanes::kLanes;
  using Part = PartOfRow<Element, rows_are, true>;
  static constexpr int kLogTerms = 12, kColumns = static_cast<int>(kSumColumns<double>);
  static_assert(P::kColumns <= 1 << kLogTerms);

 public:
  int first_row, first_column, columns;  // of a round; of the part, and how many
  int lanes_of_row;

  __device__ __forceinline__ RowsOfWarp(const Loss<Element>& loss, const P& rows, int warp)
      : l_(loss), cut_(rows), cache_(shared_memory<Element>() + warp * P::kTiles * kWideTile) {
    const int of_team = warp % rows.warps, lane = lane_of_warp();
    first_row = rows.parts > 1 ? 0 : of_team * rows.at_once;
    first_column = rows.parts > 1 ? of_team * P::kColumns : 0;
    columns = min(static_cast<int>(loss.a.labels.classes) - first_column, P::kColumns);
    lanes_of_row = rows.tiles * kLanes;
    tile_ = cache_ + lane / kLanes * kWideTile;
    first_of_tile_ = lane / kLanes % rows.tiles * static_cast<int>(kTile);
    width_ = min(max(columns - first_of_tile_, 0), static_cast<int>(kTile));
    // Full lines are added quicker: behind the last column is -Inf whatever row comes.
    const int end = rows_are == RowsAre::kInPieces ? padded() : kWideTile;
    for (int c = width_ + group_.rank; c < end; c += kLanes)
      tile_[c] = narrow<Element>(-std::numeric_limits<float>::infinity());
    if (rows_are != RowsAre::kInPieces) __syncwarp();  // others copy to there, too
  }

  // Begins to copy `there` rows from number `row` on.
  __device__ __forceinline__ void begin(int64_t row, int there) const {
    if constexpr (rows_are == RowsAre::kAnyhow) {
#pragma unroll 1
      for (int slot = 0; slot < there; ++slot) part_of(row + slot, slot).begin();
    } else {
      const Element* const from = l_.at(row, first_column);
      for_lines(from, l_.a.input.row, shift_in_sector(from), there,
                [](const Element* at, Element* kept, int left, int, bool) {
#pragma unroll
                  for (int i = 0; i < kLines; ++i)
                    if (i * kLine < left - kPartial)
                      begin_copy(reinterpret_cast<Vector<Element>*>(kept + place_in_cache(i * kLine)),
                                 reinterpret_cast<const Vector<Element>*>(at + i * kLine));
                });
      if (rows_are == RowsAre::kTogether) begin_partial_pieces(from, there);
    }
  }
  // After begin() of the same rows: all are in shared memory, for the whole warp.
  __device__ __forceinline__ void end(int64_t row, int there) const {
    if constexpr (rows_are == RowsAre::kAnyhow) {
      for (int slot = 0; slot < there; ++slot) part_of(row + slot, slot).copy_rest();
    }
    wait_for_copies();
    __syncwarp();
    if constexpr (rows_are == RowsAre::kInPieces) return;
    if constexpr (rows_are == RowsAre::kTogether) {
      close(row, there);
    } else {
#pragma unroll 1
      for (int slot = 0; slot < there; ++slot)
        if (const Part part = part_of(row + slot, slot); part.is_shifted()) part.shifted().close();
    }
    __syncwarp();
  }
  // Of a lane's row, of those from number `row` on: the largest score in each of its lanes, the sums in the first.  A
  // row that is not there gives something that nobody asks for.
  template <bool shows_lse> __device__ __forceinline__ Scores scores(int64_t row, int there) const {
    const int shift = shift_in(row);
    const Lanes lanes{lanes_of_row};
    const TileScores<Element, RowsAre::kInPieces> from_piece{tile_, 1};
    const TileScores<Element, Part::kTilesAre> of_tile{tile_ + shift, 1};
    Columns<Element, V> largest;
#pragma unroll
    for (Element& each : largest.at) each = narrow<Element>(-std::numeric_limits<float>::infinity());
#pragma unroll 8
    for (int c = group_.rank * V; c < to_look_at(shift); c += kColumns)
      keep_larger(largest.at, from_piece.template columns<V>(c).at);
    Scores scores{kLeastMost, 0, 0, 0};
#pragma unroll
    for (const Element each : largest.at) scores.most = std::fmax(scores.most, widen<float>(each));
    scores.most = lanes.largest(scores.most);
    int times = 0;
    if constexpr (kSumsQuickly<Element, shows_lse>) {
      QuickSum<Element> sum(scores.most);
      const int end = to_look_at(shift), whole = end / kExpColumns * kExpColumns;
#pragma unroll 1
      for (int c = group_.rank * V; c < whole; c += 2 * kColumns) {
        const Columns<Element, V> two[2] = {from_piece.template columns<V>(c),
                                            from_piece.template columns<V>(c + kColumns)};
        sum.add(two);
      }
      if (rows_are != RowsAre::kInPieces && group_.rank * V < end - whole)
        sum.add(from_piece.template columns<V>(whole + group_.rank * V));
      times = sum.times;
      const double quick = sum.total(lanes.over_row(sum.sum, [](double a, double b) { return a + b; }));
      scores.below = kept_sum<Element>(quick, lane_of_warp() < there * lanes_of_row, cut_.parts == 1, kLogTerms,
                                       [&] { return lanes.sum_of_tiles(exact_sum<V>(width_, of_tile, scores.most)); });
    } else {
      scores.below = lanes.sum_of_tiles(sum_exponentials<true>(padded(), group_, of_tile, scores.most, times)) *
                     ExpBelow<Element>{scores.most}.factor();
    }
    const bool smooth = may_smooth && (rows_are != RowsAre::kAnyhow || l_.a.smoothing != 0);
    if (smooth) scores.distance = sum_distances<V>(first_of_tile_, width_, group_, of_tile, scores.most, l_.labels);
    scores.times = lanes.sum(times);
    if (smooth) scores.distance = lanes.sum_of_tiles(scores.distance);
    return scores;
  }
  // The score of a column, by the first lane of a row, of those from number `row` on.
  __device__ __forceinline__ Element score_of(int64_t row, int column) const {
    return tile_[place_in_cache(column) + shift_in(row)];
  }
  // Writes rows whose first lanes have f.  FLOAT16's kernels have no registers for both forms (measured).
  static constexpr bool kLooksForLow = std::is_same_v<Element, bfloat16>;
  __device__ __forceinline__ void write(int64_t row, int there, const LogProb& f) const {
    const auto of_row = [&](int lane) {
      return LogProb{__shfl_sync(~0u, f.high, lane), __shfl_sync(~0u, f.low, lane)};
    };
    const int64_t stride = l_.a.log_prob.row;
    Element* const to = l_.log_prob + row * stride + first_column * l_.a.log_prob.column;
    if constexpr (rows_are == RowsAre::kAnyhow) {
#pragma unroll 1
      for (int slot = 0; slot < there; ++slot)
        part_of(row + slot, slot).write(of_row(slot * lanes_of_row), to + slot * stride, l_.a.log_prob.column);
    } else {
      const Element* const from = l_.at(row, first_column);
      for_lines(to, stride, shift_in_sector(from), there,
                [&](Element* at, const Element* kept, int left, int first_lane, bool is_partial) {
                  with_log_prob<kLooksForLow>(of_row(first_lane), [&](const auto& log_prob) {
#pragma unroll
                    for (int i = 0; i < kLines; ++i) {
                      const Vector<Element> piece = piece_of(kept + place_in_cache(i * kLine), log_prob);
                      store_at_once(at + i * kLine, piece, i * kLine < left - kPartial && (i > 0 || !is_partial));
                    }
                  });
                });
      if (rows_are == RowsAre::kTogether) {
        // What is left of the first pieces, and of the last, of as many rows as there are lanes for; and a whole piece
        // behind the last tile, where there is one.
        constexpr int kOfRow = 2 * kPiece, kSlots = 32 / kOfRow;
        const int in_row = lane_of_warp() % kOfRow;
        const int all_tiles = ((columns - 1) / static_cast<int>(kTile) + 1) * static_cast<int>(kTile);
#pragma unroll 1
        for (int slot = lane_of_warp() / kOfRow; slot - lane_of_warp() / kOfRow < there; slot += kSlots) {
          const LogProb log_prob = of_row(slot * lanes_of_row);
          const int shift = shift_in_sector(from + slot * l_.a.input.row), end = shift + columns;
          const int whole = end / kPiece * kPiece;
          const auto put = [&](int number) {
            if (slot < there && number >= shift && number < end)
              to[slot * stride + number - shift] = narrow<Element>(log_prob(
                  widen<float>(cache_[slot * cut_.tiles * kWideTile + place_in_cache(number - shift) + shift])));
          };
          if (in_row >= kPiece || shift % kPiece != 0)
            put(in_row < kPiece ? shift / kPiece * kPiece + in_row : whole + in_row - kPiece);
          if (whole > all_tiles && in_row < kPiece) put(all_tiles + in_row);
        }
      }
    }
    __syncwarp();  // what a lane copies next no other lane still reads
  }

 private:
  // f(at, kept, left, first_lane, is_partial) for this lane's pieces of so many rows, kLines lines of one of them at a
  // time: where the first piece is in a matrix, and in the cache, how many columns there are from it on, the row's
  // first lane, and whether the row does not begin with the piece, but in it.
  static constexpr int kLine = Lines<Element>::kLine, kLines = Lines<Element>::kLines;
  static constexpr int kPartial = rows_are == RowsAre::kTogether ? kPiece - 1 : 0;  // what is left of a row is no piece
  template <class At, class F>
  __device__ __forceinline__ void for_lines(At* row, int64_t stride, int shift, int rows, const F& f) const {
    constexpr int kAtOnce = Lines<Element>::kAtOnce;
    const int mine = lane_of_warp() * kPiece, end = (columns + kAtOnce - 1) / kAtOnce * kAtOnce;
    const int64_t to_next = stride - end;
    const int kept_to_next = cut_.tiles * kWideTile - place_in_cache(end);
    Element* kept = cache_ + mine;
    if constexpr (rows_are == RowsAre::kTogether) {
      At* at = row + mine - shift;
#pragma unroll 1
      for (int first_lane = 0; first_lane < rows * lanes_of_row; first_lane += lanes_of_row) {
        bool is_partial = mine < shift;
        int left = columns + shift - mine;
#pragma unroll 1
        for (int done = 0; done < end; done += kAtOnce) {
          f(at, kept, left, first_lane, is_partial);
          left -= kAtOnce;
          at += kAtOnce;
          kept += place_in_cache(kAtOnce);
          is_partial = false;
        }
        const int last = std::exchange(shift, next_shift(shift));
        at += to_next + last - shift;
        kept += kept_to_next;
      }
      return;
    }
    At* at = row + mine;
    int done = 0;
#pragma unroll 1
    for (int first_lane = 0; first_lane < rows * lanes_of_row;) {
      f(at, kept, columns - mine - done, first_lane, false);
      done += kAtOnce;
      at += kAtOnce;
      kept += place_in_cache(kAtOnce);
      if (done < end) continue;
      done = 0;
      at += to_next;
      kept += kept_to_next;
      first_lane += lanes_of_row;
    }
  }
  __device__ __forceinline__ int next_shift(int shift) const {
    return static_cast<int>((static_cast<unsigned>(shift) + static_cast<unsigned>(l_.a.input.row)) % kSector<Element>);
  }
  // As ShiftedRow's, of all rows.
  __device__ __forceinline__ void close(int64_t row, int there) const {
    const int lane = lane_of_warp(), last_tile = (columns - 1) / static_cast<int>(kTile);
    const int in_tile = columns - last_tile * static_cast<int>(kTile) + lane;
    const auto none = narrow<Element>(-std::numeric_limits<float>::infinity());
    int shift = shift_in_sector(l_.at(row, first_column));
    Element* kept = cache_ + lane;
#pragma unroll 1
    for (int slot = 0; slot < there; ++slot) {
      if (lane < shift) *kept = none;
      if (in_tile + shift < kWideTile) kept[last_tile * kWideTile + in_tile - lane + shift] = none;
      kept += cut_.tiles * kWideTile;
      shift = next_shift(shift);
    }
  }
  // Begins to copy what is behind each tile, and what there is of the last piece, of all rows: a lane each.
  __device__ __forceinline__ void begin_partial_pieces(const Element* from, int there) const {
    static_assert(3 * P::kTiles <= 32);
    const int lane = lane_of_warp(), of_tile = lane % P::kTiles, behind = lane / P::kTiles * kPiece;
    const bool is_last = lane >= 2 * P::kTiles;
    const int slot = is_last ? lane - 2 * P::kTiles : of_tile * cut_.at_once / P::kTiles;
    const int tile = of_tile - slot * cut_.tiles;
    const Element* const row = from + slot * l_.a.input.row;
    const int shift = shift_in_sector(row), end = shift + columns, whole = end / kPiece * kPiece;
    const int number = is_last ? whole : (tile + 1) * static_cast<int>(kTile) + behind, left = end - number;
    Element* const to = cache_ + slot * cut_.tiles * kWideTile +
                        (is_last ? place_in_cache(whole) : tile * kWideTile + static_cast<int>(kTile) + behind);
    const bool is_in_tiles = number / static_cast<int>(kTile) * static_cast<int>(kTile) < columns;
    if (slot < there && left > 0 && (is_last ? is_in_tiles : behind < shift))
      begin_copy(reinterpret_cast<Vector<Element>*>(to), reinterpret_cast<const Vector<Element>*>(row - shift + number),
                 min(left, kPiece) * static_cast<int>(sizeof(Element)));
  }
  __device__ __forceinline__ Part part_of(int64_t row, int slot) const {
    return {l_.at(row, first_column), l_.a.input.column, cache_ + slot * cut_.tiles * kWideTile, columns, l_.rows_are};
  }
  // Of the lane's row, of those from number `row` on.
  __device__ __forceinline__ int shift_in(int64_t row) const {
    return part_of(row + lane_of_warp() / lanes_of_row, 0).shift();
  }
  __device__ __forceinline__ int padded() const { return (width_ + kExpColumns - 1) / kExpColumns * kExpColumns; }
  // Elements of the lane's tile from its pieces' first on, of which the largest is wanted.  What is behind a tile that
  // is not the row's last belongs to the next one.
  __device__ __forceinline__ int to_look_at(int shift) const {
    if (rows_are == RowsAre::kInPieces) return padded();
    const int left = columns - first_of_tile_;
    return left <= 0 ? 0 : left > static_cast<int>(kTile) ? static_cast<int>(kTile) : padded() + shift;
  }
  const Loss<Element>& l_;
  const P& cut_;
  Element *const cache_, *tile_;           // of the warp; a lane's
  const TileGroup<V> group_{.mask = ~0u};  // all groups add at once
  int first_of_tile_, width_;
};

}  // namespace descend::cuda
