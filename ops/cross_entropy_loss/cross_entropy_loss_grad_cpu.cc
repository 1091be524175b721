// SPDX-License-Identifier: MIT
// The gradient of the cross entropy on the CPU: one pass over logProb and out.
//
// A row's coefficients are double.  Rounded to float once, they leave an element within 2 ulp; exp's power of two is
// applied last, so that only the result itself can be too large or too small.  The element of the label, where almost
// equal numbers may be subtracted, is computed in double, and so are rows whose coefficients float does not hold.
// Without smoothing and z-loss halves have few enough bits for a label's element in float: scale * 2^k (1 + p) - scale
// is scale * p where the probability is almost 1, and k 0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cross_entropy_loss/cross_entropy_loss_grad_cpu.cc"
#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/in_double_cpu-inl.h"
#include "src/loops/math-inl.h"
#include "src/loops/math_scalar.h"
#include "src/loops/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// exp(x) * scale; scale is neither very large nor very small.
template <class D, class V> V scaled_exp(D d, V x, V scale) {
  V k, low;
  const V m = exp_parts(d, x, hn::Zero(d), k, low);
  return scale_by_power_of_two(d, hn::Mul(m, scale), k);
}
// The same in a third of the operations, but where exp is far from 1.  With `less`, exp(x) * scale - scale.
template <class Element, bool less = false, class D, class V>
HWY_INLINE V quick_scaled_exp(D d, hn::Mask<D>& rare, V x, V scale) {
  const V limit = hn::Set(d, 58.0f);
  rare = hn::Not(hn::Le(hn::Abs(x), limit));
  V shifted;
  const V p = quick_exp_parts<sizeof(Element) == 2>(d, x, shifted);
  // scale * 2^k, in the exponent's bits: an ordinary scale, and the product, are normal numbers.
  const hn::RebindToUnsigned<D> bits;
  const V power = hn::BitCast(d, hn::Add(hn::BitCast(bits, scale), hn::ShiftLeft<23>(hn::BitCast(bits, shifted))));
  return mul_add(d, power, p, less ? hn::Sub(power, scale) : power);
}

// An element off the label, of what exp(logProb) is multiplied with.  Element: what shows of the exponential, which is
// more than the result's dtype where something is subtracted from it.
template <class Element, class F> struct OffLabel {
  F f;
  static constexpr bool kHasQuick = true;

  template <class D, class V, class... W> HWY_INLINE V quick(D d, hn::Mask<D>& rare, V x, W... weight) const {
    return f(d, quick_scaled_exp<Element>(d, rare, x, hn::Set(d, f.scale)), weight...);
  }
  template <class D, class V, class... W> V operator()(D d, V x, W... weight) const {
    auto rare = hn::FirstN(d, 0);
    const V usual = quick_scaled_exp<Element>(d, rare, x, hn::Set(d, f.scale));
    return f(d, hn::IfThenElse(rare, scaled_exp(d, x, hn::Set(d, f.scale)), usual), weight...);
  }
};
// Without smoothing; with it, of classes that weigh the same; with it and weights.
struct Plain {
  float scale;
  template <class D, class V> HWY_INLINE V operator()(D, V probability) const { return probability; }
};
struct Smooth {
  float scale, smooth;
  template <class D, class V> HWY_INLINE V operator()(D d, V probability) const {
    return hn::Sub(probability, hn::Set(d, smooth));
  }
  template <class D, class V> HWY_INLINE V operator()(D d, V probability, V weight) const {
    return negative_mul_add(d, hn::Set(d, smooth), weight, probability);
  }
};
// Without smoothing, each element with a factor of its own.
template <class Element> struct OffLabels {
  static constexpr bool kHasQuick = true;

  template <class D, class V> HWY_INLINE V quick(D d, hn::Mask<D>& rare, V x, V scale) const {
    return quick_scaled_exp<Element>(d, rare, x, scale);
  }
  template <class D, class V> V operator()(D d, V x, V scale) const {
    auto rare = hn::FirstN(d, 0);
    const V usual = quick_scaled_exp<Element>(d, rare, x, scale);
    return hn::IfThenElse(rare, scaled_exp(d, x, scale), usual);
  }
};
// The same in double.
struct ExactPlain {
  double scale;
  template <class D, class V> HWY_INLINE V operator()(D d, V x) const { return hn::Mul(exp(d, x), hn::Set(d, scale)); }
};
struct ExactSmooth {
  double scale, smooth;
  template <class D, class V> HWY_INLINE V operator()(D d, V x) const {
    return hn::Sub(hn::Mul(exp(d, x), hn::Set(d, scale)), hn::Set(d, smooth));
  }
  template <class D, class V> HWY_INLINE V operator()(D d, V x, V weight) const {
    return hn::Sub(hn::Mul(exp(d, x), hn::Set(d, scale)), hn::Mul(hn::Set(d, smooth), weight));
  }
};

// Labels' elements where has_labels_in_float().
template <class Element> struct LabelInFloat {
  template <class D, class V> HWY_INLINE V operator()(D d, V x, V scale) const {
    auto rare = hn::FirstN(d, 0);
    const V usual = quick_scaled_exp<Element, true>(d, rare, x, scale);
    if (HWY_LIKELY(hn::AllFalse(d, rare))) return usual;
    return hn::IfThenElse(rare, hn::Sub(scaled_exp(d, x, scale), scale), usual);
  }
};
// What an element of a row is made of: exp(logProb) * (label + rest), less smooth * weight, less label at the label.
struct Row {
  int64_t label;
  double at_label, rest, smooth;

  double scale() const { return at_label + rest; }

  // a * exp(x) - a as a * expm1(x), which loses nothing where the probability is almost 1.
  double label_element(double x, double weight) const {
    const scalar::Math<double> math;
    const double probability = scalar::exp(math, x);
    const double of_label = std::isinf(probability) || std::isinf(at_label)
                                ? probability * scale() - at_label
                                : at_label * scalar::expm1(math, x) + probability * rest;
    return smooth == 0 ? of_label : of_label - smooth * weight;
  }
};

// Row::label_element without smoothing of many rows, whose at_label is a number; without and with `rest`.
struct LabelElement {
  template <class D, class V> HWY_INLINE V operator()(D d, V x, V at_label) const {
    return hn::Add(hn::Mul(at_label, expm1(d, x)), hn::Zero(d));  // -0 becomes 0
  }
  template <class D, class V> HWY_INLINE V operator()(D d, V x, V at_label, V rest) const {
    const V probability = exp(d, x);
    const V usual = hn::Add(hn::Mul(at_label, expm1(d, x)), hn::Mul(probability, rest));
    const V infinite = hn::Sub(hn::Mul(probability, hn::Add(at_label, rest)), at_label);
    return hn::IfThenElse(hn::Eq(probability, hn::Inf(d)), infinite, usual);
  }
};

// Whether the number, rounded to float, keeps its precision in any product with a result of exp_parts, and with powers
// of two up to exp(58).
inline bool is_ordinary(double x) { return std::fabs(x) >= 0x1p-40 && std::fabs(x) <= 0x1p40; }

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
    const bool in_float = has_labels_in_float<Element>();
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
      run_inputs<float>(OffLabels<Element>{}, n, result, std::make_index_sequence<2>(), Input<float>{x, -1},
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

  template <class Element> bool has_labels_in_float() const {
    return sizeof(Element) == 2 && a_.smoothing == 0 && a_.zloss_scale == 0;
  }
  // Puts the labels' elements of so many rows where something else was computed.
  template <class Element>
  static void put_labels_in_float(int64_t rows, const int64_t* place, const float* x, const float* scale,
                                  float* result) {
    HWY_ALIGN float label_x[kTile], label_scale[kTile], elements[kTile];
    for (int64_t i = 0; i < rows; ++i) label_x[i] = x[place[i]], label_scale[i] = scale[place[i]];
    run_inputs<float>(LabelInFloat<Element>{}, rows, elements, std::make_index_sequence<2>(), Input<float>{label_x, -1},
                      Input<float>{label_scale, -1});
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
    if (ordinary && has_labels_in_float<Element>()) {
      const auto x_f = static_cast<float>(x);
      float element;
      run_inputs<float>(LabelInFloat<Element>{}, 1, &element, std::make_index_sequence<2>(), Input<float>{&x_f, -1},
                        Input<float>{&scale_f, -1});
      to[at] = narrow<Element>(element);
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
