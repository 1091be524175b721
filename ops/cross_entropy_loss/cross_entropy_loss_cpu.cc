// SPDX-License-Identifier: MIT
// The cross entropy on the CPU.
//
// Each row is read three times: for its largest score, for the sum of exponentials, and to be written.  Exponentials
// and differences are float, sums and a row's own numbers double.  The largest score's own exponential, 1, stays out of
// the sum, and the logarithm is that of 1 plus the rest: so the logarithm of a probability that is almost 1 is as
// precise as any other.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cross_entropy_loss/cross_entropy_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cpu-inl.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// What is known of a row before it is written.
struct Scores {
  float most = -std::numeric_limits<float>::infinity();
  int64_t times = 0;    // the largest score is there
  double below = 0;     // sum of the other scores' exponentials
  double distance = 0;  // sum of weight * (score - most), with smoothing

  // Inf - Inf: a row without a finite largest score is NaN.
  bool is_number() const { return std::isfinite(most); }
  // What the largest score's 1 is added to.
  double others() const {
    return is_number() ? static_cast<double>(times - 1) + below : std::numeric_limits<double>::quiet_NaN();
  }
  double log_sum() const { return log_one_plus(others()); }
  LogProb log_prob(double log_sum) const {
    const auto high = static_cast<float>(most + log_sum);
    return {high, static_cast<float>(log_sum - (double{high} - most))};
  }
};

struct RowLoss {
  double loss = 0, zloss = 0;
};

template <class Element> class CrossEntropy {
 public:
  CrossEntropy(const CrossEntropyLossArgs& a, void* const* data)
      : a_(a),
        labels_{a.labels, data[0], static_cast<const float*>(data[1])},
        input_{static_cast<Element*>(data[2]), a.input},
        log_prob_{static_cast<Element*>(data[4]), a.log_prob},
        loss_(static_cast<Element*>(data[3])),
        zloss_(static_cast<Element*>(data[5])),
        lse_(static_cast<Element*>(data[6])),
        shows_lse_(kHalf && a.shows_lse()),
        shared_(a.labels.classes > kChunk && a.labels.rows < 4 * static_cast<int64_t>(parallel_width())),
        short_(a.labels.classes <= kShort && input_.packed(a.labels.classes) && log_prob_.packed(a.labels.classes) &&
               a.smoothing == 0),
        group_(shared_  ? 1
               : short_ ? kTile / a.labels.classes
                        : std::max(input_.group(), log_prob_.group())) {
    if (a.smoothing != 0) weights_ = labels_.sum_of_all_weights();
  }

  void run() const {
    if (a_.labels.rows == 0) return store_total({});
    constexpr int64_t kBlocks = CrossEntropyRowCut::kBlocks;
    const int64_t rows = a_.labels.rows;
    const CrossEntropyRowCut cut(rows);
    const int64_t per_block = cut.per_block, blocks = (rows - 1) / per_block + 1;
    double loss_of[kBlocks], zloss_of[kBlocks];
    const auto run_blocks = [&](int64_t begin, int64_t end) {
      std::optional<SumOfSums<>> loss, zloss;  // a row that is a block needs none
      if (per_block > 1) loss.emplace(cut.per_part), zloss.emplace(cut.per_part);
      const auto keep = [&](int64_t row, const RowLoss& of_row) {
        if (per_block == 1) {
          loss_of[row] = of_row.loss;
          zloss_of[row] = of_row.zloss;
          return;
        }
        loss->add(of_row.loss);
        zloss->add(of_row.zloss);
        if (row + 1 != rows && ((row + 1) & (per_block - 1)) != 0) return;
        loss_of[row / per_block] = loss->take();
        zloss_of[row / per_block] = zloss->take();
      };
      const int64_t last = std::min(end * per_block, rows);
      for (int64_t row = begin * per_block; row < last; row += group_) {
        if (shared_)
          keep(row, run_row(row));
        else if (short_)
          run_short_rows(row, std::min(group_, last - row), keep);
        else
          group_ == 1 ? run_group<1>(row, 1, keep) : run_group<kMostRows>(row, std::min(group_, last - row), keep);
      }
    };
    if (shared_) {
      run_blocks(0, blocks);
    } else {
      const int64_t enough = std::max(kChunk / a_.labels.classes, group_);  // rows
      parallel_for(blocks, (enough - 1) / per_block + 1, run_blocks);
    }
    if (a_.reduction == CrossEntropyReduction::kNone) return;
    const auto total = [&](const double* of) {
      return sum_terms(blocks, [&](int64_t begin, int64_t n, double* terms) { std::copy_n(of + begin, n, terms); });
    };
    store_total({total(loss_of), a_.zloss_scale != 0 ? total(zloss_of) : 0});
  }

 private:
  static constexpr int64_t kMostRows = Matrix<Element>::kMostRows;
  static constexpr bool kHalf = sizeof(Element) == 2;

  // Of a tile, as precise as the results show.
  double sum_of_tile(const Element* x, int64_t n, float most, int64_t& times) const {
    return shows_lse_ ? sum_exponentials<kHalf>(x, n, most, times) : sum_exponentials<false>(x, n, most, times);
  }

  // Terms [column, column + n) of the sum with smoothing, n <= kTile.
  void distances(const Element* x, int64_t column, int64_t n, float most, double* terms) const {
    load_run<double, Element>(x, n, terms);
    for (int64_t i = 0; i < n; ++i) terms[i] = (terms[i] - double{most}) * labels_.weight_of(column + i);
  }
  void write(const Element* x, int64_t n, const LogProb& f, Element* to) const {
    run_inputs<float>(f, n, to, std::make_index_sequence<1>(), Input<Element>{x, -1});
  }

  // Rows [row, row + height), tile by tile; height is at most kRows.  Where a row has no more than kKept tiles, those
  // that have to be copied are copied once.
  template <int64_t kRows, class Keep> void run_group(int64_t row, int64_t height, const Keep& keep) const {
    constexpr int64_t kKept = 2;
    HWY_ALIGN Element read[kKept][kRows * kTile], written[kRows * kTile];
    HWY_ALIGN double terms[kTile];
    const int64_t classes = a_.labels.classes;
    bool is_read = false;
    const auto for_each_tile = [&](const auto& body) {
      for (int64_t column = 0; column < classes; column += kTile) {
        const int64_t width = std::min(kTile, classes - column);
        Element* const buffer = read[column / kTile % kKept];
        body(is_read ? input_.place(row, column, width, buffer) : input_.read(row, height, column, width, buffer),
             column, width);
      }
      is_read = classes <= kKept * kTile;
    };
    Scores scores[kRows];
    for_each_tile([&](const MatrixTile<Element>& tile, int64_t, int64_t width) {
      for (int64_t i = 0; i < height; ++i) scores[i].most = largest(tile[i], width, scores[i].most);
    });
    for (int64_t i = 0; i < height; ++i) scores[i].most += 0.0f;  // of -0 and 0, whichever was found, 0
    std::optional<SumOfTiles> below[kRows],
        distance[kRows];  // made where needed: what a row costs by itself counts
    for (int64_t i = 0; i < height; ++i) {
      below[i].emplace(classes);
      if (a_.smoothing != 0) distance[i].emplace(classes);
    }
    for_each_tile([&](const MatrixTile<Element>& tile, int64_t column, int64_t width) {
      for (int64_t i = 0; i < height; ++i) {
        if (!scores[i].is_number()) continue;
        below[i]->add(sum_of_tile(tile[i], width, scores[i].most, scores[i].times));
        if (a_.smoothing == 0) continue;
        distances(tile[i], column, width, scores[i].most, terms);
        distance[i]->add(sum_padded_tile(terms, width));
      }
    });
    LogProb f[kRows];
    for (int64_t i = 0; i < height; ++i) {
      scores[i].below = below[i]->take();
      if (a_.smoothing != 0) scores[i].distance = distance[i]->take();
      const double log_sum = scores[i].log_sum();
      f[i] = scores[i].log_prob(log_sum);
      keep(row + i, finish(row + i, scores[i], log_sum));
    }
    for_each_tile([&](const MatrixTile<Element>& tile, int64_t column, int64_t width) {
      const MatrixTile<Element> to = log_prob_.place(row, column, width, written);
      for (int64_t i = 0; i < height; ++i) write(tile[i], width, f[i], to[i]);
      log_prob_.write(row, height, column, width, to);
    });
  }

  // Rows [row, row + height) of few classes, one after the other in memory and at most a tile: what run_group does, of
  // all rows at once.
  template <class Keep> void run_short_rows(int64_t row, int64_t height, const Keep& keep) const {
    const int64_t classes = a_.labels.classes, n = height * classes;
    const Element* first = input_.at(row, 0);
    // Behind each is room for what is written and read past the last row.
    HWY_ALIGN float x[kTile + kPair], of_row[kTile + kPair], low[kTile + kPair], terms[kTile + kPair];
    HWY_ALIGN float most[kTile];
    HWY_ALIGN double others[kTile], log_sum[kTile];
    load_run<float, Element>(first, n, x);
    for (int64_t i = 0; i < height; ++i) {
      most[i] = largest_of_few(x + i * classes, classes) + 0.0f;
      spread(most[i], classes, of_row + i * classes);
    }
    if (shows_lse_)
      run_inputs<float>(ExpBelow<Element, kHalf>{}, n, terms, std::make_index_sequence<2>(), Input<float>{x, -1},
                        Input<float>{of_row, -1});
    else
      run_inputs<float>(ExpBelow<Element>{}, n, terms, std::make_index_sequence<2>(), Input<float>{x, -1},
                        Input<float>{of_row, -1});
    for (int64_t i = 0; i < height; ++i) {
      Scores scores{.most = most[i]};
      scores.below = sum_few(terms + i * classes, classes, scores.times);
      others[i] = scores.others();
    }
    run_inputs<double>(LogOnePlus{}, height, log_sum, std::make_index_sequence<1>(), Input<double>{others, -1});
    for (int64_t i = 0; i < height; ++i) {
      const Scores scores{.most = most[i]};
      const LogProb f = scores.log_prob(log_sum[i]);
      keep(row + i, finish(row + i, scores, log_sum[i]));
      spread(f.high, classes, of_row + i * classes);
      spread(f.low, classes, low + i * classes);
    }
    run_inputs<float>(LogProbs{}, n, x, std::make_index_sequence<3>(), Input<float>{x, -1}, Input<float>{of_row, -1},
                      Input<float>{low, -1});
    store_run<float, Element>(x, n, log_prob_.at(row, 0));
  }

  // One row, by all threads: the same additions in the same order.
  RowLoss run_row(int64_t row) const {
    const int64_t classes = a_.labels.classes;
    const auto tiles_of = [&](int64_t begin, int64_t end, const auto& body) {
      HWY_ALIGN std::byte read[kTile * sizeof(Element)];
      for (int64_t column = begin; column < end; column += kTile) {
        const int64_t width = std::min(kTile, end - column);
        body(input_.read(row, 1, column, width, read)[0], column, width);
      }
    };
    Scores scores;
    const int64_t per_part = chunks_per_group(classes) * kChunk;
    float most[kSumGroups];
    parallel_for(classes, per_part, [&](int64_t begin, int64_t end) {
      float& part = most[begin / per_part] = scores.most;
      tiles_of(begin, end, [&](const Element* x, int64_t, int64_t width) { part = largest(x, width, part); });
    });
    for (int64_t part = 0; part * per_part < classes; ++part) scores.most = std::max(scores.most, most[part]);
    scores.most += 0.0f;
    if (scores.is_number()) {
      std::atomic<int64_t> times{0};
      scores.below = sum_tiles(classes, [&](int64_t begin, int64_t n) {
        double sum = 0;
        int64_t equal = 0;
        tiles_of(begin, begin + n,
                 [&](const Element* x, int64_t, int64_t width) { sum = sum_of_tile(x, width, scores.most, equal); });
        if (equal != 0) times += equal;  // of few tiles: the threads would pass its line to and fro
        return sum;
      });
      scores.times = times;
      if (a_.smoothing != 0)
        scores.distance = sum_terms(classes, [&](int64_t begin, int64_t n, double* terms) {
          tiles_of(begin, begin + n, [&](const Element* x, int64_t column, int64_t width) {
            distances(x, column, width, scores.most, terms);
          });
        });
    }
    const double log_sum = scores.log_sum();
    const LogProb f = scores.log_prob(log_sum);
    const RowLoss loss = finish(row, scores, log_sum);
    parallel_for(classes, kChunk, [&](int64_t begin, int64_t end) {
      HWY_ALIGN std::byte written[kTile * sizeof(Element)];
      tiles_of(begin, end, [&](const Element* x, int64_t column, int64_t width) {
        const MatrixTile<Element> to = log_prob_.place(row, column, width, written);
        write(x, width, f, to[0]);
        log_prob_.write(row, 1, column, width, to);
      });
    });
    return loss;
  }

  // The row's loss, before its scores are written over.
  RowLoss finish(int64_t row, const Scores& scores, double log_sum) const {
    const int64_t label = labels_[row];
    const double lse = scores.most + log_sum;
    if (a_.write_zloss) lse_[row * a_.lse_stride] = narrow<Element>(lse);
    RowLoss r;
    if (label != kNoClass) {
      const double log_prob = widen<double>(*input_.at(row, label)) - scores.most - log_sum;
      r.loss = -(1 - a_.smoothing) * labels_.weight_of(label) * log_prob;
      if (a_.smoothing != 0)
        r.loss -= a_.smoothing / static_cast<double>(a_.labels.classes) * (scores.distance - log_sum * weights_);
      if (a_.zloss_scale != 0) r.zloss = a_.zloss_scale * lse * lse;
    }
    if (a_.reduction == CrossEntropyReduction::kNone) {
      loss_[row * a_.loss_stride] = narrow<Element>(r.loss + r.zloss);
      if (a_.write_zloss) zloss_[row * a_.zloss_stride] = narrow<Element>(r.zloss);
    }
    return r;
  }
  void store_total(RowLoss total) const {
    if (a_.reduction == CrossEntropyReduction::kMean) {
      total.loss /= labels_.sum_of_weights();
      if (a_.zloss_scale != 0 || a_.write_zloss) total.zloss /= labels_.count();
    }
    *loss_ = narrow<Element>(a_.zloss_scale != 0 ? total.loss + total.zloss : total.loss);
    if (a_.write_zloss) *zloss_ = narrow<Element>(total.zloss);
  }

  const CrossEntropyLossArgs& a_;
  const Labels labels_;
  const Matrix<Element> input_, log_prob_;
  Element *const loss_, *const zloss_, *const lse_;
  const bool shows_lse_;  // and of halves, for which exponentials have to be more precise then
  const bool shared_;     // few long rows, each shared among the threads, in place of rows for each thread
  const bool short_;      // rows of few classes
  const int64_t group_;   // rows that are taken together
  double weights_ = 0;    // of all classes, with smoothing
};

void CrossEntropyLossCpu(const CrossEntropyLossArgs& a, void* const* data) {
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype, [&]<class Element> { CrossEntropy<Element>(a, data).run(); });
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(CrossEntropyLossCpu);

Status cross_entropy_loss(const CrossEntropyLossArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(CrossEntropyLossCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kCrossEntropyLoss, cross_entropy_loss);

}  // namespace
}  // namespace descend
#endif
