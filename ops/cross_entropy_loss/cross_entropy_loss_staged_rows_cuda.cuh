// SPDX-License-Identifier: MIT
// Rows of few classes that are whole lines of columns: a warp keeps a batch of rows in shared memory, where a thread,
// or two, has a row for itself.  Nothing is read twice, what a row costs by itself is computed for many rows at once,
// and no warp waits for another: some compute while others wait for memory.  Warps take rows as they come along: not
// all multiprocessors get the same share of the memory's bandwidth.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_quick_sum_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"

namespace descend::cuda {

template <class Element> struct StagedRows {
  static constexpr int kWarps = 8, kThreads = kWarps * 32, kColumns = static_cast<int>(kSumColumns<double>);
  static constexpr int kShare = sizeof(Element) / 2;                                // threads that share a row
  static constexpr int kRows = 32 / kShare, V = kColumns / kShare;                  // of a batch; a thread's columns
  static constexpr int kInPiece = Vector<Element>::kCount, kPieces = V / kInPiece;  // 16 bytes each
  static constexpr int kMostClasses = 192;  // two blocks have their rows on a multiprocessor

  // An odd number of pieces: threads that read the same piece of neighbouring rows keep off each other's banks.
  static constexpr int pieces_apart(int64_t classes) { return static_cast<int>(classes) / kInPiece | 1; }
  static constexpr int bytes(int64_t classes) { return 16 * kWarps * kRows * pieces_apart(classes); }

  // Of rows that begin where 16 bytes may be moved.  Some cards have less shared memory than the largest rows need.
  // Nothing may show more of the exponentials than Element does.
  static bool fits(const Loss<Element>& l, const CudaLaunch& on) {
    constexpr int kOther = 2 << 10;
    const int64_t classes = l.a.labels.classes;
    return classes % kColumns == 0 && classes <= kMostClasses && bytes(classes) + kOther <= on.shared_memory &&
           l.a.input.row == classes && l.a.log_prob.row == classes &&
           (std::is_same_v<Element, float> || !l.a.shows_lse());
  }
};

// kClasses: 0 where the number is not known before the run.
template <class Element, int kClasses, bool smooth>
__global__ void __launch_bounds__(StagedRows<Element>::kThreads, 2)
    staged_rows(const __grid_constant__ Loss<Element> l, Divisor pieces_of_row) {
  using S = StagedRows<Element>;
  using Piece = Vector<Element>;
  constexpr bool kTight = kClasses == 128 && !smooth;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  // A warp begins with the unit of its own number, and asks for another number whenever it begins with one.
  const int64_t unit = unit_of_rows(l.cut, S::kRows), warps = int64_t{gridDim.x} * S::kWarps,
                number = blockIdx.x * S::kWarps + warp;
  const auto take = [&] { return lane == 0 ? take_unit(l.scratch) : 0; };
  const int classes = kClasses ? kClasses : static_cast<int>(l.a.labels.classes);
  const int per_row = classes / S::kInPiece, apart = kTight ? per_row : S::pieces_apart(classes);
  const int lines = classes / S::kColumns;  // of a row
  Piece* const stage = shared_memory<Piece>() + warp * S::kRows * apart;
  const int mine = lane % S::kRows, rank = lane / S::kRows;  // row of the batch, and which of its threads
  Piece* const my_row = stage + mine * apart;
  // Where a piece of a row is in it.
  const auto swizzle = [](int row) { return kTight && sizeof(Element) == 4 ? row % 4 * 2 : 0; };
  // This thread's pieces, each once; those of a line together, but in tight rows of halves.
  const int turn = !kTight ? 0 : sizeof(Element) == 4 ? swizzle(mine) + mine / 4 % 2 : mine % 8;
  const auto my_piece = [&](int line, int p) -> Piece& {
    return my_row[((line * S::kShare + rank) * S::kPieces + p) ^ turn];
  };
  // f(staged, i) for this lane's pieces of so many rows, which lie 16 * i bytes behind its first.
  const auto for_pieces = [&](int rows, const auto& f) {
#pragma unroll 1
    for (int i = 0; i + lane < rows * per_row; i += 32) {
      uint32_t column = static_cast<uint32_t>(i + lane);
      const uint32_t row = pieces_of_row.divide(column);
      f(stage + row * apart + (static_cast<int>(column) ^ swizzle(static_cast<int>(row))), i);
    }
  };
  // Of the batch that begins with row `first` of a unit, which may lie behind the last row.
  const auto rows_from = [&](int64_t first) {
    const int64_t left = l.a.labels.rows - first, in_unit = unit - (first & (unit - 1));
    const int64_t most = in_unit < S::kRows ? in_unit : S::kRows;
    return static_cast<int>(left < 0 ? 0 : left < most ? left : most);
  };
  const auto label_from = [&](int64_t first, int rows) { return lane < rows ? l.labels[first + lane] : kNoClass; };
  LossesOfRows<S::kRows> sums;
  const Piece* const input = reinterpret_cast<const Piece*>(l.input) + lane;
  unsigned ticket = take();
  int64_t first = number * unit;
  int rows = rows_from(first);
  int64_t label = label_from(first, rows);
  for_pieces(rows, [&](Piece* staged, int i) { begin_copy(staged, input + first * per_row + i); });
  while (rows > 0) {
    wait_for_copies();
    __syncwarp();
    Scores scores;
    Piece most;
#pragma unroll
    for (Element& each : most.at) each = narrow<Element>(scores.most);
#pragma unroll 4
    for (int line = 0; line < lines; ++line)
#pragma unroll
      for (int p = 0; p < S::kPieces; ++p) keep_larger(most.at, my_piece(line, p).at);
#pragma unroll
    for (const Element each : most.at) scores.most = std::fmax(scores.most, widen<float>(each));
    if constexpr (S::kShare == 2) scores.most = std::fmax(scores.most, __shfl_xor_sync(~0u, scores.most, S::kRows));
    scores.most += 0.0f;
    int times = 0;
    if constexpr (kSumsQuickly<Element, false>) {
      QuickSum<Element> sum(scores.most);
#pragma unroll 2
      for (int line = 0; line < lines; ++line)
#pragma unroll
        for (int p = 0; p < S::kPieces; ++p) sum.add_without_question(my_piece(line, p));
      times = sum.times_without_question();
      const double quick = sum.total(sum.sum);
      CrossEntropyKeptSum<Element> kept_sum(quick, true);
      // Rows that are not sure are added up exactly, two at a time, each by a half of the warp.
      constexpr int kHalf = TileGroup<1>::kSize;
      unsigned unsure = __ballot_sync(~0u, lane < rows && !kept_sum.is_sure(error_of_quick_sum(quick, 8)));
      while (unsure != 0) {
        const int one = __ffs(static_cast<int>(unsure)) - 1;
        unsure &= unsure - 1;
        const int other = unsure != 0 ? __ffs(static_cast<int>(unsure)) - 1 : one;
        unsure &= unsure - 1;
        const int of_half = lane < kHalf ? one : other;
        const TileScores<Element, RowsAre::kInPieces> of_row{reinterpret_cast<const Element*>(stage + of_half * apart),
                                                             1};
        const double exact = exact_sum<1>(classes, of_row, __shfl_sync(~0u, scores.most, of_half));
        const double of_one = __shfl_sync(~0u, exact, 0), of_other = __shfl_sync(~0u, exact, kHalf);
        if (lane == one) kept_sum = {of_one, true};
        if (lane == other) kept_sum = {of_other, true};
      }
      scores.below = kept_sum.kept();
    } else {
      const ExpBelow<Element> below{scores.most};
      const auto exp_of = [&](float x) { return exp_below(x, below, times); };
      double column[S::V] = {};
#pragma unroll 1
      for (int line = 0; line + 1 < lines; line += 2)
#pragma unroll
        for (int p = 0; p < S::kPieces; ++p) {
          float one[S::kInPiece], other[S::kInPiece];
          widen_all(my_piece(line, p), one);
          widen_all(my_piece(line + 1, p), other);
#pragma unroll
          for (int j = 0; j < S::kInPiece; ++j)
            column[p * S::kInPiece + j] += double{exp_of(one[j]) + exp_of(other[j])};
        }
      if (lines % 2 != 0) {
#pragma unroll
        for (int p = 0; p < S::kPieces; ++p)
#pragma unroll
          for (int j = 0; j < S::kInPiece; ++j)
            column[p * S::kInPiece + j] += double{exp_of(widen<float>(my_piece(lines - 1, p).at[j]))};
      }
      scores.below = add_columns<S::V, S::kColumns, S::kRows>(column, ~0u) * kExpDrop * below.factor();
    }
    if constexpr (S::kShare == 2) times += __shfl_xor_sync(~0u, times, S::kRows);
    scores.times = times;
    if constexpr (smooth) {
      double distance[S::V] = {};
#pragma unroll 1
      for (int line = 0; line < lines; ++line)
#pragma unroll
        for (int p = 0; p < S::kPieces; ++p) {
          const Piece piece = my_piece(line, p);
          const int number = line * S::kColumns + rank * S::V + p * S::kInPiece;
#pragma unroll
          for (int j = 0; j < S::kInPiece; ++j)
            distance[p * S::kInPiece + j] +=
                (widen<double>(piece.at[j]) - double{scores.most}) * double{l.labels.weight_of(number + j)};
        }
      scores.distance = add_columns<S::V, S::kColumns, S::kRows>(distance, ~0u);
    }
    LogProb f{};
    RowLoss done;
    if (lane < rows) {
      const double log_sum = scores.log_sum();
      f = scores.template log_prob<Element>(log_sum);
      typename Loss<Element>::Label at_label;
      if (label != kNoClass)
        at_label = {true, l.labels.weight_of(label),
                    my_row[label / S::kInPiece ^ swizzle(mine)].at[label % S::kInPiece]};
      done = l.finish(first + lane, at_label, scores.most, scores.distance, log_sum);
    }
    if constexpr (S::kShare == 2) f = {__shfl_sync(~0u, f.high, mine), __shfl_sync(~0u, f.low, mine)};
    __syncwarp();  // labels' scores are read before they are written over
#pragma unroll 2
    for (int line = 0; line < lines; ++line)
#pragma unroll
      for (int p = 0; p < S::kPieces; ++p) {
        Piece& piece = my_piece(line, p);
        Piece x = piece;
        float result[S::kInPiece];
        widen_all(x, result);
#pragma unroll
        for (float& each : result) each = f(each);
        narrow_all(result, x.at);
        piece = x;
      }
    __syncwarp();
    // Where a piece was, the next batch's is put.
    Piece* const to = reinterpret_cast<Piece*>(l.log_prob) + lane + first * per_row;
    int64_t next = first + S::kRows;
    if (unit <= S::kRows || (next & (unit - 1)) == 0) {
      next = (warps + __shfl_sync(~0u, ticket, 0)) * unit;
      ticket = take();
    }
    const Piece* const from = input + next * per_row;
    const int next_rows = rows_from(next);
    label = label_from(next, next_rows);
    if (kClasses != 0 && rows == S::kRows && next_rows == S::kRows) {  // without questions, four at a time
      constexpr int kPerRow = kClasses == 0 ? 1 : kClasses / S::kInPiece, kTimes = S::kRows * kPerRow / 32;
      static_assert(kClasses == 0 || (32 % kPerRow == 0 && kTimes % 4 == 0));
      const auto staged = [&](int i) {
        if (kTight) return stage + i * 32 + (lane ^ swizzle(i * 32 / kPerRow));  // a row of halves has no swizzle
        return stage + (i * 32 + lane) / kPerRow * apart + lane % kPerRow;
      };
#pragma unroll
      for (int i = 0; i < kTimes; i += 4) {
        Piece some[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) some[j] = *staged(i + j);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          store_at_once(to + (i + j) * 32, some[j]);
          begin_copy(staged(i + j), from + (i + j) * 32);
        }
      }
    } else {
      for_pieces(rows, [&](Piece* staged, int i) {
        store_at_once(to + i, *staged);
        if (i + lane < next_rows * per_row) begin_copy(staged, from + i);
      });
    }
    sums.add(l, first, rows, done);
    first = next;
    rows = next_rows;
    __syncwarp();
  }
  sums.end(l);
  l.add_parts(true);
}

template <class Element> Status run_staged(const Loss<Element>& l, const CudaLaunch& on) {
  using S = StagedRows<Element>;
  const int64_t classes = l.a.labels.classes, units = ceil_divide(l.a.labels.rows, unit_of_rows(l.cut, S::kRows));
  const auto pick = [&]<bool smooth> {
    return classes == 128 ? staged_rows<Element, 128, smooth> : staged_rows<Element, 0, smooth>;
  };
  return start(on, l.a.smoothing != 0 ? pick.template operator()<true>() : pick.template operator()<false>(),
               blocks_for(on, units, S::kWarps, 2), S::kThreads, static_cast<size_t>(S::bytes(classes)), l,
               Divisor(classes / S::kInPiece));
}

}  // namespace descend::cuda
