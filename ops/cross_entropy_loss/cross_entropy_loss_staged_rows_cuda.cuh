// SPDX-License-Identifier: MIT
// Rows of few classes that are whole lines of columns: a warp keeps a batch of rows in shared memory, where a thread,
// or two, has a row for itself, while the next batch is on its way.  Nothing is read twice, what a row costs by itself
// is computed for many rows at once, and no warp waits for another.  Warps take rows as they come along: not all
// multiprocessors get the same share of the memory's bandwidth.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_cache_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_quick_sum_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"

namespace descend::cuda {

template <class Element> struct StagedRows {
  static constexpr int kMostWarps = 20;  // with registers enough for rows with smoothing
  static constexpr int kLeastWarps = 4;  // of fewer the others leave a multiprocessor idle
  static constexpr int kColumns = static_cast<int>(kSumColumns<double>);
  static constexpr int kShare = sizeof(Element) / 2;                                // threads that share a row
  static constexpr int kRows = 32 / kShare, V = kColumns / kShare;                  // of a batch; a thread's columns
  static constexpr int kInPiece = Vector<Element>::kCount, kPieces = V / kInPiece;  // 16 bytes each
  static constexpr int kMostClasses = 192;
  static constexpr int kStages = 2;  // batches of a warp, of which it computes one

  // An odd number of pieces: threads that read the same piece of neighbouring rows keep off each other's banks.
  static constexpr int pieces_apart(int64_t classes) { return static_cast<int>(classes) / kInPiece | 1; }
  static constexpr int bytes_of_warp(int64_t classes) { return 16 * kStages * kRows * pieces_apart(classes); }
  // That there is room for in a block, which has a multiprocessor for itself.
  static int warps(int64_t classes, const CudaLaunch& on) {
    constexpr int kOther = 2 << 10;
    return std::min(kMostWarps, (on.shared_memory - kOther) / bytes_of_warp(classes));
  }

  // Of rows that begin where 16 bytes may be moved.  Nothing may show more of the exponentials than Element does.
  static bool fits(const Loss<Element>& l, const CudaLaunch& on) {
    const int64_t classes = l.a.labels.classes;
    return classes % kColumns == 0 && classes <= kMostClasses && warps(classes, on) >= kLeastWarps &&
           l.a.input.row == classes && l.a.log_prob.row == classes &&
           (std::is_same_v<Element, float> || !l.a.shows_lse());
  }
};

// kClasses: 0 where the number is not known before the run.
template <class Element, int kClasses, bool smooth>
__global__ void __launch_bounds__(StagedRows<Element>::kMostWarps * 32, 1)
    staged_rows(const __grid_constant__ Loss<Element> l, Divisor pieces_of_row) {
  using S = StagedRows<Element>;
  using Piece = Vector<Element>;
  constexpr bool kTight = kClasses == 128 && !smooth;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  // The first two units of a warp are known, `of_all` and `of_all + warps`; whenever it begins with another it asks for
  // the number of one more.
  const int64_t unit = unit_of_rows(l.cut, S::kRows);
  const unsigned warps_of_block = blockDim.x / 32, warps = gridDim.x * warps_of_block;
  const unsigned of_all = blockIdx.x * warps_of_block + static_cast<unsigned>(warp);
  const int classes = kClasses ? kClasses : static_cast<int>(l.a.labels.classes);
  const int per_row = classes / S::kInPiece, apart = kTight ? per_row : S::pieces_apart(classes);
  const int lines = classes / S::kColumns;                   // of a row
  const int mine = lane % S::kRows, rank = lane / S::kRows;  // row of the batch, and which of its threads
  Piece* const stages = shared_memory<Piece>() + warp * S::kStages * S::kRows * apart;
  Piece *stage, *my_row;  // of the batch in hand
  // Where a piece of a row is in it.
  const auto swizzle = [](int row) { return kTight && sizeof(Element) == 4 ? row % 4 * 2 : 0; };
  // This thread's pieces, each once; those of a line together, but in tight rows of halves.
  const int turn = !kTight ? 0 : sizeof(Element) == 4 ? swizzle(mine) + mine / 4 % 2 : mine % 8;
  const auto my_piece = [&](int line, int p) -> Piece& {
    return my_row[((line * S::kShare + rank) * S::kPieces + p) ^ turn];
  };
  // f(staged, i, row, is_there) for this lane's pieces of so many rows, which lie 16 * i bytes behind its first; all
  // lanes come as often.
  const auto for_pieces = [&](int rows, const auto& f) {
    const int pieces = rows * per_row;
#pragma unroll 1
    for (int i = 0; i < pieces; i += 32) {
      uint32_t column = static_cast<uint32_t>(i + lane);
      const int row = static_cast<int>(pieces_of_row.divide(column));
      f(stage + row * apart + (static_cast<int>(column) ^ swizzle(row)), i, row, i + lane < pieces);
    }
  };
  // Of the batch that begins with row `first` of a unit, which may lie behind the last row.
  const auto rows_from = [&](int64_t first) {
    const int64_t left = l.a.labels.rows - first, in_unit = unit - (first & (unit - 1));
    const int64_t most = in_unit < S::kRows ? in_unit : S::kRows;
    return static_cast<int>(left < 0 ? 0 : left < most ? left : most);
  };
  // A number that memory has yet to give is not looked at before it is needed: whoever does waits for it.
  const auto target_from = [&](int64_t first, int rows) { return lane < rows ? l.labels.target_of(first + lane) : 0; };
  LossesOfRows<S::kRows> sums;
  const Piece* const input = reinterpret_cast<const Piece*>(l.input) + lane;
  unsigned ticket = of_all - warps;  // the first lane's, as if it had asked for its second unit
  // The first row of the batch behind that which begins with row `first`.
  const auto behind = [&](int64_t first) {
    first += S::kRows;
    if (unit > S::kRows && (first & (unit - 1)) != 0) return first;
    first = (2 * warps + __shfl_sync(~0u, ticket, 0)) * unit;
    if (lane == 0) ticket = take_unit(l.scratch);
    return first;
  };
  int64_t first[S::kStages] = {of_all * unit}, target[S::kStages];  // of the batches in order
  int rows[S::kStages];
#pragma unroll
  for (int i = 0; i < S::kStages; ++i) {
    if (i > 0) first[i] = behind(first[i - 1]);
    rows[i] = rows_from(first[i]);
    target[i] = target_from(first[i], rows[i]);
    stage = stages + i * S::kRows * apart;
    for_pieces(rows[i], [&](Piece* staged, int at, int, bool is_there) {
      if (is_there) begin_copy(staged, input + first[i] * per_row + at);
    });
    end_batch_of_copies();
  }
  stage = stages;
  while (rows[0] > 0) {
    wait_for_batches_but<S::kStages - 1>();
    __syncwarp();
    my_row = stage + mine * apart;
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
        for (int p = 0; p < S::kPieces; ++p) sum.add_without_question(load_at_once<Piece>(&my_piece(line, p)));
      times = sum.times_without_question();
      scores.below = kept_sum_of_rows<Element>(sum.total(sum.sum), 8, rows[0], scores.most, classes, [&](int row) {
        return reinterpret_cast<const Element*>(stage + row * apart);
      });
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
    if (lane < rows[0]) {
      const double log_sum = scores.log_sum();
      f = scores.template log_prob<Element>(log_sum);
      typename Loss<Element>::Label at_label;
      if (const int64_t label = l.labels.class_of(target[0]); label != kNoClass)
        at_label = {true, l.labels.weight_of(label),
                    my_row[label / S::kInPiece ^ swizzle(mine)].at[label % S::kInPiece]};
      done = l.finish(first[0] + lane, at_label, scores.most, scores.distance, log_sum);
    }
    __syncwarp();  // labels' scores are read before others are put in their place
    // Where a piece was, that of the batch behind those on their way is put.
    Piece* const to = reinterpret_cast<Piece*>(l.log_prob) + lane + first[0] * per_row;
    const int64_t next = behind(first[S::kStages - 1]);
    const Piece* const from = input + next * per_row;
    const int next_rows = rows_from(next);
    const int64_t next_target = target_from(next, next_rows);
    const auto write = [&](const auto& log_prob_of) {
      const auto piece_in = [](const Piece* staged, const auto& log_prob) {
        return piece_of(reinterpret_cast<const Element*>(staged), log_prob);
      };
      if (kClasses != 0 && rows[0] == S::kRows && next_rows == S::kRows) {  // without questions, four at a time
        constexpr int kPerRow = kClasses == 0 ? 1 : kClasses / S::kInPiece, kTimes = S::kRows * kPerRow / 32;
        constexpr int kOfLine = 32 / kPerRow;  // rows of which a piece of each lane is
        static_assert(kClasses == 0 || (32 % kPerRow == 0 && kTimes % 4 == 0));
        const int of_line = lane / kPerRow;
        Piece *staged[4], *at = to;
        const Piece* next_at = from;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          staged[j] = kTight
                          ? stage + j * 32 + (lane ^ swizzle(j * kOfLine))  // that of four lines behind it is the same
                          : stage + (j * kOfLine + of_line) * apart + lane % kPerRow;
#pragma unroll 1
        for (int row = of_line; row < S::kRows; row += 4 * kOfLine) {
          Piece some[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) some[j] = piece_in(staged[j], log_prob_of(row + j * kOfLine));
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            store_at_once(at + j * 32, some[j]);
            begin_copy(staged[j], next_at + j * 32);
            staged[j] += 4 * kOfLine * apart;
          }
          at += 4 * 32;
          next_at += 4 * 32;
        }
      } else {
        for_pieces(rows[0], [&](Piece* staged, int i, int row, bool is_there) {
          const auto log_prob = log_prob_of(row);
          if (!is_there) return;
          store_at_once(to + i, piece_in(staged, log_prob));
          if (i + lane < next_rows * per_row) begin_copy(staged, from + i);
        });
      }
    };
    if (sizeof(Element) == 2 && !__any_sync(~0u, f.low != 0))
      write([&](int row) { return LogProbOfHigh{__shfl_sync(~0u, f.high, row)}; });
    else
      write([&](int row) { return LogProb{__shfl_sync(~0u, f.high, row), __shfl_sync(~0u, f.low, row)}; });
    end_batch_of_copies();
    sums.add(l, first[0], rows[0], done);
#pragma unroll
    for (int i = 1; i < S::kStages; ++i) first[i - 1] = first[i], rows[i - 1] = rows[i], target[i - 1] = target[i];
    first[S::kStages - 1] = next, rows[S::kStages - 1] = next_rows, target[S::kStages - 1] = next_target;
    stage = stage == stages + (S::kStages - 1) * S::kRows * apart ? stages : stage + S::kRows * apart;
  }
  sums.end(l);
  l.add_parts(true);
}

template <class Element> Status run_staged(const Loss<Element>& l, const CudaLaunch& on) {
  using S = StagedRows<Element>;
  const int64_t classes = l.a.labels.classes, units = ceil_divide(l.a.labels.rows, unit_of_rows(l.cut, S::kRows));
  // Few rows are of as many multiprocessors as there are.
  const int warps = static_cast<int>(
      std::clamp<int64_t>(ceil_divide(units, on.multiprocessors), kLeastThreads / 32, S::warps(classes, on)));
  const auto pick = [&]<bool smooth> {
    return classes == 128 ? staged_rows<Element, 128, smooth> : staged_rows<Element, 0, smooth>;
  };
  return start(on, l.a.smoothing != 0 ? pick.template operator()<true>() : pick.template operator()<false>(),
               blocks_for(on, units, warps, 1), warps * 32, static_cast<size_t>(warps * S::bytes_of_warp(classes)), l,
               Divisor(classes / S::kInPiece));
}

}  // namespace descend::cuda
