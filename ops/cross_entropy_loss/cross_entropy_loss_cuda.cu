// SPDX-License-Identifier: MIT
// The cross entropy on NVIDIA GPUs, with the additions and formulas of cross_entropy_loss_cpu.cc.
//
// The rows' losses are added in the order of CrossEntropyRowCut.  Rows of up to a tile: a warp has the rows of one
// block, 32 at a time, so that what a row costs by itself is computed for 32 rows at once. Those of few classes without
// a gap: cross_entropy_loss_staged_rows_cuda.cuh; longer ones, of one part or a few:
// cross_entropy_loss_part_rows_cuda.cuh, or many neighbours of one part cross_entropy_loss_ring_rows_cuda.cuh; of more:
// cross_entropy_loss_long_rows_cuda.cuh.
#include "ops/cross_entropy_loss/cross_entropy_loss_long_rows_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_longest_rows_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_part_rows_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_ring_rows_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_staged_rows_cuda.cuh"

namespace descend::cuda {
namespace {

// No rows: there is nothing but the total.
template <class Element> __global__ void only_total(const __grid_constant__ Loss<Element> l) { l.store_total(0, 0, 0); }

// Of a row of at most kTile classes; out of the way of what is done for every row.
template <int V, class Element>
__device__ __noinline__ double distance_of_row(const Loss<Element>& l, int64_t row, float most) {
  return sum_distances<V>(0, static_cast<int>(l.a.labels.classes), TileGroup<V>{},
                          TileScores<Element, RowsAre::kAnyhow>{l.at(row, 0), l.a.input.column}, most, l.labels);
}

// A block of threads has so many blocks of rows, a warp each.  The few warps there are of all rows are on the card at
// once and have many registers; none waits for another, so that some compute while others wait for memory.
constexpr int kWarps = 8, kShortThreads = kWarps * 32;

// Rows of at most kTile classes.  A group of threads reads a row in up to kPer times V elements a thread, V of them at
// once where a row's elements are `together`.
template <class Element, int V, bool together, int kPer, bool shows_lse>
__global__ void __launch_bounds__(kShortThreads, 2) short_rows(const __grid_constant__ Loss<Element> l) {
  constexpr int kColumns = static_cast<int>(kSumColumns<double>), kAtOnce = 32 / TileGroup<V>::kSize;
  constexpr int kBatch = 32;  // rows for which what they cost by themselves is computed at once
  using Piece = Columns<Element, V>;
  __shared__ __align__(8) unsigned char kept[kWarps][kBatch * sizeof(Scores)];  // until the warp's are all there
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int64_t begin = (int64_t{blockIdx.x} * kWarps + warp) * l.cut.per_block;
  const int64_t end = begin + l.cut.per_block < l.a.labels.rows ? begin + l.cut.per_block : l.a.labels.rows;
  const int classes = static_cast<int>(l.a.labels.classes);
  const TileGroup<V> group;
  const int which = lane / TileGroup<V>::kSize;  // of the rows at once
  Scores* const scores_of = reinterpret_cast<Scores*>(kept[warp]);
  const auto is_there = [&](int i) { return group.rank * V + kColumns * i < classes; };
  const auto load = [&](int64_t row, Piece(&x)[kPer]) {
    const TileScores<Element, together ? RowsAre::kInPieces : RowsAre::kAnyhow> from_mine{l.at(row, group.rank * V),
                                                                                          l.a.input.column};
#pragma unroll
    for (int i = 0; i < kPer; ++i)
      if (is_there(i)) x[i] = from_mine.template columns<V>(kColumns * i);
  };
  LossesOfRows<kBatch> sums;
  for (int64_t first = begin; first < end; first += kBatch) {
    const int rows = static_cast<int>(end - first < kBatch ? end - first : kBatch);
    const int64_t label = lane < rows ? l.labels[first + lane] : kNoClass;
    for (int some = 0; some < rows; some += kAtOnce) {
      const int64_t row = first + (some + which < rows ? some + which : some);
      Piece x[kPer];
      load(row, x);
      Scores scores;
      Piece most;
#pragma unroll
      for (Element& each : most.at) each = narrow<Element>(scores.most);
#pragma unroll
      for (int i = 0; i < kPer; ++i)
        if (is_there(i)) keep_larger(most.at, x[i].at);
#pragma unroll
      for (const Element each : most.at) scores.most = std::fmax(scores.most, widen<float>(each));
#pragma unroll
      for (int step = TileGroup<V>::kSize / 2; step > 0; step /= 2)
        scores.most = std::fmax(scores.most, __shfl_xor_sync(~0u, scores.most, step));
      scores.most += 0.0f;
      int times = 0;
      if constexpr (kSumsQuickly<Element, shows_lse>) {
        QuickSum<Element> sum(scores.most);
#pragma unroll
        for (int i = 0; i < kPer; ++i) {
          if (!is_there(i)) continue;
          if constexpr (V > 1)
            sum.add(x[i]);
          else
            sum.add_one(x[i].at[0]);
        }
        times = sum.times;
#pragma unroll
        for (int step = TileGroup<V>::kSize / 2; step > 0; step /= 2) sum.sum += __shfl_xor_sync(~0u, sum.sum, step);
        scores.below = kept_sum<Element>(sum.total(sum.sum), true, true, 9, [&] {
          const TileScores<Element, RowsAre::kAnyhow> of_row{l.at(row, 0), l.a.input.column};
          return exact_sum<V>(classes, of_row, scores.most);
        });
      } else {
        const ExpBelow<Element> exp_of{scores.most};
        double column[V] = {};
#pragma unroll
        for (int i = 0; i < kPer; i += 2) {
          if (!is_there(i)) continue;
#pragma unroll
          for (int j = 0; j < V; ++j) {
            float two = exp_below(widen<float>(x[i].at[j]), exp_of, times);
            if (is_there(i + 1)) two += exp_below(widen<float>(x[i + 1].at[j]), exp_of, times);
            column[j] += double{two};
          }
        }
        scores.below = add_columns<V>(column, group.mask) * kExpDrop * exp_of.factor();
      }
#pragma unroll
      for (int step = TileGroup<V>::kSize / 2; step > 0; step /= 2) times += __shfl_xor_sync(~0u, times, step);
      scores.times = times;
      if (l.a.smoothing != 0) scores.distance = distance_of_row<V>(l, row, scores.most);
      if (group.rank == 0) scores_of[some + which] = scores;  // a row that is not there is another's copy
    }
    __syncwarp();
    LogProb f{};
    RowLoss done;
    if (lane < rows) {
      const Scores scores = scores_of[lane];
      const double log_sum = scores.log_sum();
      f = scores.template log_prob<Element>(log_sum);
      done = l.finish(first + lane, l.label_of(first + lane, label), scores.most, scores.distance, log_sum);
    }
    __syncwarp();  // labels' scores are read before they are written over
    for (int some = 0; some < rows; some += kAtOnce) {
      const LogProb g{__shfl_sync(~0u, f.high, some + which), __shfl_sync(~0u, f.low, some + which)};
      if (some + which >= rows) continue;
      const int64_t row = first + some + which;
      Piece x[kPer];
      load(row, x);
      const int64_t step = together ? 1 : l.a.log_prob.column;
      Element* const to = l.log_prob + row * l.a.log_prob.row + group.rank * V * step;
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        if (!is_there(i)) continue;
        float result[V];
        widen_all(x[i], result);
#pragma unroll
        for (float& each : result) each = g(each);
        narrow_all(result, x[i].at);
        *reinterpret_cast<Piece*>(to + kColumns * i * step) = x[i];
      }
    }
    sums.add(l, first, rows, done);
    __syncwarp();
  }
  sums.end(l);
  l.add_parts();
}

template <class Element, bool shows_lse>
Status run(const CrossEntropyLossArgs& a, void* const* data, const CudaLaunch& on) {
  const auto at = [&](int k) { return static_cast<Element*>(data[k]); };
  Loss<Element> l{.a = a,
                  .labels = {a.labels, data[0], static_cast<const float*>(data[1])},
                  .input = at(2),
                  .loss = at(3),
                  .log_prob = at(4),
                  .zloss = at(5),
                  .lse = at(6),
                  .scratch = on.scratch};
  const bool weights = a.reduction == CrossEntropyReduction::kMean && !l.counts_rows();
  if (Status s = sum_labels(l.labels, weights, a.smoothing != 0, false, on); !s.ok()) return s;
  const int64_t rows = a.labels.rows, classes = a.labels.classes;
  if (rows == 0) return start(on, only_total<Element>, 1, 1, 0, l);
  l.cut = CrossEntropyRowCut(rows);
  const int64_t blocks = ceil_divide(rows, l.cut.per_block);
  const auto in_pieces = [&](int64_t count) {
    const auto fits = [&](const CrossEntropyMatrixStrides& s, const void* address) {
      return s.column == 1 && s.row % count == 0 && is_aligned(address, static_cast<size_t>(count) * sizeof(Element));
    };
    return classes % count == 0 && fits(a.input, data[2]) && fits(a.log_prob, data[4]);
  };
  if (StagedRows<Element>::fits(l, on) && in_pieces(Vector<Element>::kCount)) return run_staged(l, on);
  if (classes <= kTile) {
    constexpr int kLeast = 4 / sizeof(Element);
    const auto pick = [&]<int V, bool together> {
      return classes <= 128 ? short_rows<Element, V, together, 8, shows_lse>
                            : short_rows<Element, V, together, 32, shows_lse>;
    };
    const auto kernel =
        in_pieces(kLeast) ? pick.template operator()<kLeast, true>() : pick.template operator()<1, false>();
    return start(on, kernel, ceil_divide(blocks, kWarps), kShortThreads, 0, l);
  }
  constexpr int64_t kPiece = Vector<Element>::kCount;
  const bool alike = a.input.column == 1 && a.log_prob.column == 1 && (a.input.row - a.log_prob.row) % kPiece == 0 &&
                     shift_of(at(2)) == shift_of(at(4));
  l.rows_are = in_pieces(kPiece) ? RowsAre::kInPieces : alike ? RowsAre::kTogether : RowsAre::kAnyhow;
  const bool smooth = a.smoothing != 0;
  if constexpr (!shows_lse)  // with more lanes a row where they have work (fits)
    if (RingRows<Element, 2>::fits(l, on)) return run_ring<2>(l, on);
  if constexpr (!shows_lse && sizeof(Element) == 2)
    if (RingRows<Element, 4>::fits(l, on)) return run_ring<4>(l, on);
  if (const PartRows<Element> cut(classes, l.cut); cut.fits(l, on))
    return run_part_rows<Element, shows_lse>(l, cut, on);
  if (const LongRows cut = rows_of_team(classes, sizeof(Element), smooth, on);
      cut.parts.count > 1 && cut.warps_with_work(on.shared_memory) > 0) {
    const int64_t of_card = ceil_divide(on.multiprocessors * cut.blocks_of_multiprocessor(on.shared_memory), cut.team);
    const int64_t teams = std::min(ceil_divide(rows, unit_of_rows(l.cut, 1)), of_card);
    return start_in_clusters(
        on,
        for_rows_of(l, [&]<RowsAre are, bool may_smooth> { return long_rows<Element, shows_lse, are, may_smooth>; }),
        teams * cut.team, cut.team, cut.warps() * 32, static_cast<size_t>(cut.bytes()), l, cut);
  }
  return start(on, longest_rows<Element, shows_lse>, blocks, kLongThreads, 0, l);
}

Status cross_entropy_loss(const CrossEntropyLossArgs& a, void* const* data, Launch& launch) {
  const CudaLaunch on = cuda_launch(launch);
  Status status;
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype, [&]<class Element> {
    constexpr bool is_half = sizeof(Element) == 2;  // floats are as precise in any case
    status = is_half && a.shows_lse() ? run<Element, is_half>(a, data, on) : run<Element, false>(a, data, on);
  });
  return status;
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kCrossEntropyLoss, cross_entropy_loss);

}  // namespace
}  // namespace descend::cuda
