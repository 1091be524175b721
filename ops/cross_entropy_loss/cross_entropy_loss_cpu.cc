// SPDX-License-Identifier: MIT
// The cross entropy on the CPU.
//
// Each row comes from memory twice: part by part, for its largest score and then for the sum of exponentials
// (cross_entropy_loss_parts_cpu-inl.h), and to be written.  Rows of few classes come once, many at a time
// (cross_entropy_loss_short_rows_cpu-inl.h).  Exponentials and differences are float, sums (but for TileSum) and a
// row's own numbers double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cross_entropy_loss/cross_entropy_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_parts_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_short_rows_cpu-inl.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

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
        short_(a.labels.classes <= kShort && a.smoothing == 0),
        parts_(a.labels.classes, sizeof(Element)),
        group_(shared_  ? 1
               : short_ ? kShortRows
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
    const bool has_zloss = a_.zloss_scale != 0;
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
        if (has_zloss) zloss->add(of_row.zloss);
        if (row + 1 != rows && ((row + 1) & (per_block - 1)) != 0) return;
        loss_of[row / per_block] = loss->take();
        if (has_zloss) zloss_of[row / per_block] = zloss->take();
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
    store_total({total(loss_of), has_zloss ? total(zloss_of) : 0});
  }

 private:
  static constexpr int64_t kMostRows = Matrix<Element>::kMostRows;
  static constexpr bool kHalf = sizeof(Element) == 2;

  void add_tile(SumOfPart& sum, const Element* x, int64_t n, bool exactly) const {
    sum.add(exactly ? sum_exponentials<kHalf>(x, n, sum.most(), sum.times())
                    : sum_exponentials<false>(x, n, sum.most(), sum.times()));
  }
  // What is kept of a part: where that depends on what a quick sum has lost, add_all(sum) adds its tiles exactly. Where
  // that is nothing, so is the exact one.
  template <class AddAll> PartScores keep_part(SumOfPart& sum, const AddAll& add_all) const {
    PartScores part = sum.take();
    part.below *= Largest<Element>{part.most}.factor();
    if constexpr (kHalf) {
      if (shows_lse_) return part;
      const bool is_row = parts_.count == 1;
      CrossEntropyKeptSum<Element> sum_of_part(part.below, is_row);
      if (part.below != 0 && !sum_of_part.is_sure(kErrorOfQuickSum)) {
        SumOfPart exact(sum.most());
        add_all(exact);
        sum_of_part = {exact.take().below, is_row};
      }
      part.below = sum_of_part.kept();
    }
    return part;
  }
  // Terms [column, column + n) of the sum with smoothing, n <= kTile.
  void distances(const Element* x, int64_t column, int64_t n, float most, double* terms) const {
    load_run<double, Element>(x, n, terms);
    for (int64_t i = 0; i < n; ++i) terms[i] = (terms[i] - double{most}) * labels_.weight_of(column + i);
  }
  void write(const Element* x, int64_t n, const LogProb& f, Element* to) const {
    run_inputs<float>(f, n, to, std::make_index_sequence<1>(), Input<Element>{x, -1});
  }

  // Rows [row, row + height), tile by tile; height is at most kRows.  Of tiles that have to be copied the last kKept
  // are there.
  template <int64_t kRows, class Keep> void run_group(int64_t row, int64_t height, const Keep& keep) const {
    constexpr int64_t kKept = 2;
    HWY_ALIGN Element read[kKept][kRows * kTile], written[kRows * kTile];
    HWY_ALIGN double terms[kTile];
    int64_t kept[kKept] = {-1, -1};  // their columns
    const int64_t classes = a_.labels.classes;
    const auto for_each_tile = [&](int64_t begin, int64_t end, const auto& body) {
      for (int64_t column = begin; column < end; column += kTile) {
        const int64_t width = std::min(kTile, end - column), slot = column / kTile % kKept;
        const bool is_there = std::exchange(kept[slot], column) == column;
        body(is_there ? input_.place(row, column, width, read[slot])
                      : input_.read(row, height, column, width, read[slot]),
             column, width);
      }
    };
    PartScores of_parts[kRows][CrossEntropyParts::kMost];
    for (int64_t part = 0; part < parts_.count; ++part) {
      const int64_t begin = part * parts_.columns, end = std::min(begin + parts_.columns, classes);
      float most[kRows];
      std::fill_n(most, height, kLeastMost);
      for_each_tile(begin, end, [&](const MatrixTile<Element>& tile, int64_t, int64_t width) {
        for (int64_t i = 0; i < height; ++i) most[i] = largest(tile[i], width, most[i]);
      });
      SumOfPart sums[kRows];
      for (int64_t i = 0; i < height; ++i) sums[i].begin(most[i]);
      for_each_tile(begin, end, [&](const MatrixTile<Element>& tile, int64_t, int64_t width) {
        for (int64_t i = 0; i < height; ++i) add_tile(sums[i], tile[i], width, shows_lse_);
      });
      for (int64_t i = 0; i < height; ++i)
        of_parts[i][part] = keep_part(sums[i], [&](SumOfPart& sum) {
          for_each_tile(begin, end, [&](const MatrixTile<Element>& tile, int64_t, int64_t width) {
            add_tile(sum, tile[i], width, true);
          });
        });
    }
    Scores scores[kRows];
    for (int64_t i = 0; i < height; ++i) scores[i] = scores_of_row(of_parts[i], parts_.count);
    if (a_.smoothing != 0) {
      std::optional<SumOfTiles> distance[kRows];  // made where needed: what a row costs by itself counts
      for (int64_t i = 0; i < height; ++i) distance[i].emplace(classes);
      for_each_tile(0, classes, [&](const MatrixTile<Element>& tile, int64_t column, int64_t width) {
        for (int64_t i = 0; i < height; ++i) {
          distances(tile[i], column, width, scores[i].most, terms);
          distance[i]->add(sum_padded_tile(terms, width));
        }
      });
      for (int64_t i = 0; i < height; ++i) scores[i].distance = distance[i]->take();
    }
    LogProb f[kRows];
    for (int64_t i = 0; i < height; ++i) {
      const double log_sum = scores[i].log_sum();
      f[i] = scores[i].template log_prob<Element>(log_sum);
      keep(row + i, finish(row + i, scores[i], log_sum));
    }
    for_each_tile(0, classes, [&](const MatrixTile<Element>& tile, int64_t column, int64_t width) {
      const MatrixTile<Element> to = log_prob_.place(row, column, width, written);
      for (int64_t i = 0; i < height; ++i) write(tile[i], width, f[i], to[i]);
      log_prob_.write(row, height, column, width, to);
    });
  }

  // Rows [row, row + height) of few classes, at most kShortRows: what run_group does.
  template <class Keep> void run_short_rows(int64_t row, int64_t height, const Keep& keep) const {
    ShortRows<Element> rows(a_.labels.classes, height);
    gather(axes_of_short_rows(rows, input_), sizeof(Element), input_.at(row, 0), rows.score);
    ShortRowsSums sums;
    shows_lse_ ? sum_short_rows<kHalf>(rows, sums) : sum_short_rows<false>(rows, sums);
    if constexpr (kHalf)
      if (!shows_lse_) keep_sums(rows, sums.below);
    HWY_ALIGN double log_sum[kShortRows];
    run_inputs<double>(LogOnePlus{}, height, log_sum, std::make_index_sequence<2>(), Input<double>{sums.more, -1},
                       Input<double>{sums.below, -1});
    HWY_ALIGN float high[kShortRows], low[kShortRows];
    log_probs_of<Element>(sums.most, log_sum, height, high, low);
    for (int64_t i = 0; i < height; ++i) keep(row + i, finish(row + i, {.most = sums.most[i]}, log_sum[i]));
    ShortRows<Element> written(a_.labels.classes, height);
    write_short_rows(rows, high, low, written);
    scatter(axes_of_short_rows(written, log_prob_), sizeof(Element), written.score, log_prob_.at(row, 0));
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
    PartScores of_parts[CrossEntropyParts::kMost];
    parallel_for(parts_.count, std::max<int64_t>(kChunk / parts_.columns, 1), [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        const int64_t begin = part * parts_.columns, end = std::min(begin + parts_.columns, classes);
        float most = kLeastMost;
        tiles_of(begin, end, [&](const Element* x, int64_t, int64_t width) { most = largest(x, width, most); });
        SumOfPart sum(most);
        const auto add_all = [&](SumOfPart& to, bool exactly) {
          tiles_of(begin, end, [&](const Element* x, int64_t, int64_t width) { add_tile(to, x, width, exactly); });
        };
        add_all(sum, shows_lse_);
        of_parts[part] = keep_part(sum, [&](SumOfPart& exact) { add_all(exact, true); });
      }
    });
    Scores scores = scores_of_row(of_parts, parts_.count);
    if (a_.smoothing != 0)
      scores.distance = sum_terms(classes, [&](int64_t begin, int64_t n, double* terms) {
        tiles_of(begin, begin + n, [&](const Element* x, int64_t column, int64_t width) {
          distances(x, column, width, scores.most, terms);
        });
      });
    const double log_sum = scores.log_sum();
    const LogProb f = scores.template log_prob<Element>(log_sum);
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
  const bool shows_lse_;  // and of halves, whose sums are exact then
  const bool shared_;     // few long rows, each shared among the threads, in place of rows for each thread
  const bool short_;      // rows of few classes
  const CrossEntropyParts parts_;
  const int64_t group_;  // rows that are taken together
  double weights_ = 0;   // of all classes, with smoothing
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
