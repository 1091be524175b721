// SPDX-License-Identifier: MIT
// The gradient of the cross entropy on the CPU: one pass over logProb and out.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cross_entropy_loss/cross_entropy_loss_grad_cpu.cc"
#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/in_double_cpu-inl.h"
#include "src/loops/math-inl.h"
#include "src/loops/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

#define DESCEND_FORMULA HWY_INLINE
#define DESCEND_CAREFUL_FORMULA
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_formulas.inc"
#undef DESCEND_FORMULA
#undef DESCEND_CAREFUL_FORMULA

// exp(x) * scale, each element with a scale of its own, less scale at labels.
template <class Element, bool at_label> struct ScaledExp {
  static constexpr bool kHasQuick = true;

  template <class D, class V> HWY_INLINE V quick(D d, hn::Mask<D>& rare, V x, V scale) const {
    if constexpr (at_label) return quick_scaled_exp<sizeof(Element) == 2>(d, rare, x, scale, scale);
    return quick_scaled_exp<sizeof(Element) == 2>(d, rare, x, scale);
  }
  template <class D, class V> V operator()(D d, V x, V scale) const {
    auto rare = hn::FirstN(d, 0);
    const V usual = quick(d, rare, x, scale);
    if (HWY_LIKELY(hn::AllFalse(d, rare))) return usual;
    const V careful = scaled_exp(d, x, scale);
    return hn::IfThenElse(rare, at_label ? hn::Sub(careful, scale) : careful, usual);
  }
};
// An element off the label of one row, of what exp(logProb) is multiplied with.  Element: what shows of the
// exponential, which is more than the result's dtype where something is subtracted from it.
template <class Element, class F> struct OffLabel {
  F f;
  static constexpr bool kHasQuick = true;

  template <class D, class V, class... W> HWY_INLINE V quick(D d, hn::Mask<D>& rare, V x, W... weight) const {
    return f(d, ScaledExp<Element, false>{}.quick(d, rare, x, hn::Set(d, f.scale)), weight...);
  }
  template <class D, class V, class... W> V operator()(D d, V x, W... weight) const {
    return f(d, ScaledExp<Element, false>{}(d, x, hn::Set(d, f.scale)), weight...);
  }
};
struct Plain {  // without smoothing
  float scale;
  template <class D, class V> HWY_INLINE V operator()(D, V probability) const { return probability; }
};

// What an element of a row is made of: exp(logProb) * (label + rest), less smooth * weight, less label at the label.
struct Row {
  int64_t label;
  double at_label, rest, smooth;

  double scale() const { return at_label + rest; }
  double label_element(double x, double weight) const {
    const hn::CappedTag<double, 1> d;
    const auto v = hn::Set(d, x), of_label = hn::Set(d, at_label);
    const double element =
        hn::GetLane(rest == 0 && std::isfinite(at_label) ? LabelElement{}(d, v, of_label)
                                                         : LabelElement{}(d, v, of_label, hn::Set(d, rest)));
    return smooth == 0 ? element : element - smooth * weight;
  }
};

class CrossEntropyGradient {
 public:
  CrossEntropyGradient(const CrossEntropyLossGradArgs& a, void* const* data)
      : a_(a),
        labels_{a.labels, data[0], static_cast<const float*>(data[1])},
        gradient_(data[2]),
        zloss_gradient_(data[5]),
        lse_(data[6]) {
    const bool mean = a.reduction == CrossEntropyReduction::kMean;
    const double total = mean ? labels_.sum_of_weights() : 1;
    is_nan_ = total == 0;
    at_label_ = (1 - a.smoothing) / total;
    smooth_ = a.smoothing / static_cast<double>(a.labels.classes) / total;
    if (a.smoothing != 0) weights_ = labels_.sum_of_all_weights();
    if (a.zloss_scale != 0) zloss_ = 2 * a.zloss_scale / (mean ? labels_.count() : 1);
  }

  template <class Element> void run(Element* log_prob, Element* out) const {
    const Matrix<Element> from{log_prob, a_.log_prob}, to{out, a_.out};
    const int64_t rows = a_.labels.rows, classes = a_.labels.classes;
    if (classes <= kShort && from.packed(classes) && to.packed(classes) && a_.smoothing == 0 && !is_nan_) {
      const int64_t per_tile = kTile / classes;
      return parallel_for(rows, kChunk / kTile * per_tile, [&](int64_t begin, int64_t end) {
        for (; begin < end; begin += per_tile)
          run_short_rows(begin, std::min(per_tile, end - begin), from.at(begin, 0), to.at(begin, 0));
      });
    }
    const int64_t group = std::max(from.group(), to.group());
    const int64_t columns = std::min(classes, from.direct() && to.direct() ? kChunk : kTile);
    const int64_t groups = (rows - 1) / group + 1, tiles = (classes - 1) / columns + 1;
    parallel_for(groups * tiles, std::max<int64_t>(kChunk / (group * columns), 1), [&](int64_t begin, int64_t end) {
      HWY_ALIGN std::byte read[kTileBytes], written[kTileBytes];
      for (; begin < end; ++begin) {
        const int64_t row = begin / tiles * group, column = begin % tiles * columns;
        const int64_t height = std::min(group, rows - row), width = std::min(columns, classes - column);
        MatrixTile<Element> source{};
        const MatrixTile<Element> target = to.place(row, column, width, written);
        for (int64_t i = 0; i < height; ++i) {
          const int64_t label = labels_[row + i];
          if (is_nan_ || label == kNoClass) {
            std::fill_n(target[i], width, narrow<Element>(is_nan_ ? std::numeric_limits<float>::quiet_NaN() : 0.0f));
            continue;
          }
          if (!source.rows) source = from.read(row, height, column, width, read);
          run_row(row_of<Element>(row + i, label), source[i], target[i], column, width);
        }
        to.write(row, height, column, width, target);
      }
    });
  }

 private:
  // Rows [row, row + height) of few classes, one after the other in memory and at most a tile: the same results as
  // run_row's, of all rows at once.  `from` may be `to`.
  template <class Element> void run_short_rows(int64_t row, int64_t height, const Element* from, Element* to) const {
    const int64_t classes = a_.labels.classes, n = height * classes;
    HWY_ALIGN float x[kTile], scale[kTile], result[kTile];
    HWY_ALIGN double label_x[kTile], at_label[kTile], rest[kTile], label_result[kTile];
    int64_t place[kTile];  // of the labels; of a row that does not count any
    const bool in_float = has_label_in_float<Element>(a_);
    bool ordinary = true;
    for (int64_t i = 0; i < height; ++i) {
      const int64_t label = labels_[row + i];
      const Row r = label == kNoClass ? Row{label, 1, 0, 0} : row_of<Element>(row + i, label);
      ordinary = ordinary && is_ordinary(r.scale());
      std::fill_n(scale + i * classes, classes, static_cast<float>(r.scale()));
      place[i] = i * classes + std::max<int64_t>(label, 0);
      if (in_float) continue;
      label_x[i] = widen<double>(from[place[i]]);
      at_label[i] = r.at_label;
      rest[i] = r.rest;
    }
    if (ordinary) {
      load_run<float, Element>(from, n, x);
      run_inputs<float>(ScaledExp<Element, false>{}, n, result, std::make_index_sequence<2>(), Input<float>{x, -1},
                        Input<float>{scale, -1});
      const Input<double> label_inputs[] = {{label_x, -1}, {at_label, -1}, {rest, -1}};
      if (in_float)
        put_labels_in_float<Element>(height, place, x, scale, result);
      else if (a_.zloss_scale == 0)
        run_inputs<double>(LabelElement{}, height, label_result, std::make_index_sequence<2>(), label_inputs[0],
                           label_inputs[1]);
      else
        run_inputs<double>(LabelElement{}, height, label_result, std::make_index_sequence<3>(), label_inputs[0],
                           label_inputs[1], label_inputs[2]);
      store_run<float, Element>(result, n, to);
    }
    for (int64_t i = 0; i < height; ++i) {
      const int64_t label = labels_[row + i];
      Element* to_row = to + i * classes;
      if (label == kNoClass)
        std::fill_n(to_row, classes, narrow<Element>(0.0f));
      else if (!ordinary)
        run_row(row_of<Element>(row + i, label), from + i * classes, to_row, 0, classes);
      else if (!in_float)
        to_row[label] = narrow<Element>(label_result[i]);
    }
  }

  // Puts the labels' elements of so many rows where something else was computed.
  template <class Element>
  static void put_labels_in_float(int64_t rows, const int64_t* place, const float* x, const float* scale,
                                  float* result) {
    HWY_ALIGN float label_x[kTile], label_scale[kTile], elements[kTile];
    for (int64_t i = 0; i < rows; ++i) label_x[i] = x[place[i]], label_scale[i] = scale[place[i]];
    run_inputs<float>(ScaledExp<Element, true>{}, rows, elements, std::make_index_sequence<2>(),
                      Input<float>{label_x, -1}, Input<float>{label_scale, -1});
    for (int64_t i = 0; i < rows; ++i) result[place[i]] = elements[i];
  }

  template <class Element> Row row_of(int64_t row, int64_t label) const {
    const auto number = [](const void* data, int64_t at) {
      return widen<double>(static_cast<const Element*>(data)[at]);
    };
    const double g = number(gradient_, row * a_.gradient_stride);
    Row r{label, g * at_label_ * labels_.weight_of(label), 0, 0};
    if (a_.smoothing != 0) {
      r.smooth = g * smooth_;
      r.rest = r.smooth * weights_;
    }
    if (a_.zloss_scale != 0) {
      const double z = zloss_gradient_ ? g + number(zloss_gradient_, row * a_.zloss_gradient_stride) : g;
      r.rest += zloss_ * number(lse_, row * a_.lse_stride) * z;
    }
    return r;
  }

  // Columns [first, first + n) of a row.  `from` may be `to`.
  template <class Element>
  void run_row(const Row& row, const Element* from, Element* to, int64_t first, int64_t n) const {
    const int64_t at = row.label - first;
    const bool has_label = at >= 0 && at < n;
    const double x = has_label ? widen<double>(from[at]) : 0;
    const double scale = row.scale();
    const bool ordinary = is_ordinary(scale) && (a_.smoothing == 0 || is_ordinary(row.smooth));
    const auto scale_f = static_cast<float>(scale), smooth_f = static_cast<float>(row.smooth);
    if (a_.smoothing == 0)
      ordinary ? run_even(OffLabel<Element, Plain>{{scale_f}}, from, to, n)
               : run_even(InDouble<ExactPlain>{{scale}}, from, to, n);
    else if (!labels_.weight)
      ordinary ? run_even(OffLabel<float, Smooth>{{scale_f, smooth_f}}, from, to, n)
               : run_even(InDouble<ExactSmooth>{{scale, row.smooth}}, from, to, n);
    else
      ordinary ? run_weighted(OffLabel<float, Smooth>{{scale_f, smooth_f}}, from, to, first, n)
               : run_weighted(InDouble<ExactSmooth>{{scale, row.smooth}}, from, to, first, n);
    if (!has_label) return;
    if (ordinary && has_label_in_float<Element>(a_)) {
      const hn::CappedTag<float, 1> d;
      const auto element = ScaledExp<Element, true>{}(d, hn::Set(d, static_cast<float>(x)), hn::Set(d, scale_f));
      to[at] = narrow<Element>(hn::GetLane(element));
    } else {
      to[at] = narrow<Element>(row.label_element(x, labels_.weight_of(row.label)));
    }
  }

  template <class F, class Element> static void run_even(const F& f, const Element* from, Element* to, int64_t n) {
    run_inputs<float>(f, n, to, std::make_index_sequence<1>(), Input<Element>{from, -1});
  }
  template <class F, class Element>
  void run_weighted(const F& f, const Element* from, Element* to, int64_t first, int64_t n) const {
    HWY_ALIGN float x[kTile], weights[kTile], result[kTile];
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t count = std::min(kTile, n - begin);
      const float* w = labels_.weights(first + begin, count, weights);
      load_run<float, Element>(from + begin, count, x);
      run_inputs<float>(f, count, result, std::make_index_sequence<2>(), Input<float>{x, -1}, Input<float>{w, -1});
      store_run<float, Element>(result, count, to + begin);
    }
  }

  const CrossEntropyLossGradArgs& a_;
  const Labels labels_;
  const void *gradient_, *zloss_gradient_, *lse_;
  bool is_nan_;                     // nothing counts, and the mean is 0 / 0
  double at_label_, smooth_;        // what a row's gradient is multiplied with, but for its weight
  double weights_ = 0, zloss_ = 0;  // of all classes; what lse and its gradient are multiplied with
};

void CrossEntropyLossGradCpu(const CrossEntropyLossGradArgs& a, void* const* data) {
  const CrossEntropyGradient gradient(a, data);
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype,
        [&]<class Element> { gradient.run(static_cast<Element*>(data[3]), static_cast<Element*>(data[4])); });
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(CrossEntropyLossGradCpu);

Status cross_entropy_loss_grad(const CrossEntropyLossGradArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(CrossEntropyLossGradCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kCrossEntropyLossGrad, cross_entropy_loss_grad);

}  // namespace
}  // namespace descend
#endif
