// SPDX-License-Identifier: MIT
// Rows of few classes, many at a time: the scores lie column by column, and a lane is a row, so that what a row costs
// by itself is shared, too.  The additions and their order are those of longer rows.  Compiled once per SIMD target.
#if defined(DESCEND_OPS_CROSS_ENTROPY_LOSS_SHORT_ROWS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_CROSS_ENTROPY_LOSS_SHORT_ROWS_CPU_INL_H
#undef DESCEND_OPS_CROSS_ENTROPY_LOSS_SHORT_ROWS_CPU_INL_H
#else
#define DESCEND_OPS_CROSS_ENTROPY_LOSS_SHORT_ROWS_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/cross_entropy_loss/cross_entropy_loss_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_parts_cpu-inl.h"
#include "ops/cross_entropy_loss/cross_entropy_loss_scores_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kShortRows = 64;  // at a time; whole vectors of any target

// As many rows' scores, column by column.  The last vectors reach past what is there.
template <class Element> struct ShortRows {
  int64_t classes, count;
  HWY_ALIGN Element score[kShort * kShortRows + kColumns];

  ShortRows(int64_t classes_of_row, int64_t rows) : classes(classes_of_row), count(rows) {
    std::fill_n(score + classes * count, kColumns, Element{});
  }
  Element* column(int64_t c) { return score + c * count; }
  const Element* column(int64_t c) const { return score + c * count; }
};

// The same row by row, in the matrix.
template <class Element> Axes axes_of_short_rows(const ShortRows<Element>& rows, const Matrix<Element>& matrix) {
  const int64_t extent[] = {rows.classes, rows.count}, strides[] = {matrix.stride.column, matrix.stride.row};
  return axes_of(2, extent, strides);
}

// What Scores has of one row.
struct ShortRowsSums {
  HWY_ALIGN float most[kShortRows];
  HWY_ALIGN double more[kShortRows];  // times the largest score is there but once; NaN for a row that is no number
  HWY_ALIGN double below[kShortRows];
};

// Adds `columns` columns, at most kColumns, of `lanes` lanes each, to the first of them: as sum_columns has it, where
// what is not there is 0.
template <class T> HWY_INLINE void add_columns_of_rows(int64_t columns, int64_t lanes, T* column) {
  const hn::CappedTag<T, kColumns> d;
  for (int64_t width = kColumns / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < std::min(width, columns - width) * lanes; i += static_cast<int64_t>(hn::Lanes(d)))
      hn::Store(hn::Add(hn::Load(d, column + i), hn::Load(d, column + width * lanes + i)), d, column + i);
}

// What sum_exponentials has of one row, and its factor, of all of them.
template <bool exactly, class Element>
HWY_NOINLINE void sum_short_rows(const ShortRows<Element>& rows, ShortRowsSums& sums) {
  constexpr bool kFloat = std::is_same_v<Element, float>;
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  using Sum = TileSum<Element, exactly>;
  const hn::CappedTag<float, kColumns> d;
  const hn::CappedTag<Sum, kColumns> of_sum;
  const hn::CappedTag<double, kColumns> wide;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), wide_lanes = static_cast<int64_t>(hn::Lanes(wide));
  const int64_t columns = std::min(rows.classes, kColumns);
  HWY_ALIGN float term[kColumns * kColumns], rest_of[kColumns], bias_of[kColumns], more[kColumns];
  HWY_ALIGN Sum sum[kColumns * kColumns];
  for (int64_t row = 0; row < rows.count; row += lanes) {
    auto most = hn::Set(d, kLeastMost);
    for (int64_t c = 0; c < rows.classes; ++c) most = hn::Max(most, load_as(d, rows.column(c) + row));
    most = hn::Add(most, hn::Zero(d));  // of -0 and 0, whichever was found, 0
    hn::Store(most, d, sums.most + row);
    auto origin = hn::Zero(d), rest = most, bias = origin;  // as Largest has them
    if constexpr (kFloat) {
      const auto is_near = hn::Lt(hn::Abs(most), hn::Set(d, Largest<float>::kNear));
      origin = hn::IfThenZeroElse(is_near, most);
      rest = hn::IfThenElseZero(is_near, most);
      bias = formulas::exp_bias<kExpLift>(VectorMath<decltype(d)>{d}, rest);
    }
    auto times = hn::Zero(d);
    const auto term_of = [&](int64_t c) HWY_ATTR {
      hn::Mask<decltype(d)> is_most;
      auto score = load_as(d, rows.column(c) + row);
      if constexpr (kFloat) score = hn::Sub(score, origin);
      const auto below = ExpBelow<Element, exactly>::term(d, score, rest, bias, is_most);
      times = hn::Add(times, hn::IfThenElseZero(is_most, hn::Set(d, 1.0f)));
      return below;
    };
    for (int64_t c = 0; c < columns; ++c) {
      auto two = term_of(c);
      if (c + kColumns < rows.classes) two = hn::Add(two, term_of(c + kColumns));
      hn::Store(two, d, term + c * lanes);
    }
    const auto is_number =
        hn::And(hn::Lt(hn::Abs(most), hn::Set(d, kInfinity)), hn::Gt(times, hn::Zero(d)));  // Scores::is_number
    hn::Store(hn::IfThenElse(is_number, hn::Sub(times, hn::Set(d, 1.0f)), hn::Set(d, kNaN)), d, more);
    for (int64_t i = 0; i < columns * lanes; i += static_cast<int64_t>(hn::Lanes(of_sum)))
      hn::Store(load_as(of_sum, term + i), of_sum, sum + i);
    add_columns_of_rows(columns, lanes, sum);
    hn::Store(rest, d, rest_of);
    hn::Store(bias, d, bias_of);
    for (int64_t i = 0; i < lanes; i += wide_lanes) {
      auto below = hn::Mul(load_as(wide, sum + i), hn::Set(wide, kExpDrop));
      if constexpr (kFloat)
        below = hn::Mul(below, formulas::exp_factor<kExpLift>(VectorMath<decltype(wide)>{wide},
                                                              load_as(wide, rest_of + i), load_as(wide, bias_of + i)));
      hn::Store(below, wide, sums.below + row + i);
      hn::Store(load_as(wide, more + i), wide, sums.more + row + i);
    }
  }
}

// CrossEntropyKeptSum of many whole rows.  The mask is of those that are not sure.
template <class Element, class D, class V> HWY_INLINE V kept_sums(D d, V sum, hn::Mask<D>& unsure) {
  using Kept = CrossEntropyKeptSum<Element>;
  constexpr int kMantissa = std::numeric_limits<double>::digits - 1;
  const hn::RebindToUnsigned<D> whole;
  const auto is_number = hn::Le(sum, hn::Set(d, std::numeric_limits<double>::max()));
  const auto bits = hn::BitCast(whole, sum);
  auto half = hn::Set(whole, uint64_t{1} << (kMantissa - Kept::kBits));  // of what is left out
  for (const double fewer : {1.0, 8.0, 64.0})
    half = hn::Add(half, hn::IfThenElseZero(hn::RebindMask(whole, hn::Ge(sum, hn::Set(d, fewer))), half));
  const auto left_out = hn::Sub(hn::Add(half, half), hn::Set(whole, uint64_t{1}));
  const V kept = hn::IfThenElse(is_number, hn::BitCast(d, hn::AndNot(left_out, hn::Add(bits, half))), sum);
  const auto exponent = hn::And(bits, hn::Set(whole, uint64_t{0x7ff} << kMantissa));
  const V room = hn::Sub(hn::BitCast(d, hn::Or(exponent, half)), hn::BitCast(d, exponent));
  const V off = hn::Add(hn::Abs(hn::Sub(sum, kept)), hn::Mul(sum, hn::Set(d, kErrorOfQuickSum)));
  unsure = hn::Not(hn::And(hn::Ge(sum, hn::Set(d, Kept::kLeastSure)), hn::Lt(off, room)));
  return kept;
}

// What is kept of sums that were not computed exactly.
template <class Element> HWY_NOINLINE void keep_sums(const ShortRows<Element>& rows, double* below) {
  const hn::CappedTag<double, kColumns> d;
  HWY_ALIGN double is_unsure[kShortRows];
  for (int64_t i = 0; i < rows.count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto sum = hn::Load(d, below + i);
    hn::Mask<decltype(d)> unsure;
    hn::Store(kept_sums<Element>(d, sum, unsure), d, below + i);
    unsure = hn::And(unsure, hn::Ne(sum, hn::Zero(d)));  // where a sum is nothing, so is the exact one
    hn::Store(hn::IfThenElseZero(unsure, hn::Set(d, 1.0)), d, is_unsure + i);
  }
  int64_t unsure[kShortRows], count = 0;
  for (int64_t i = 0; i < rows.count; ++i)
    if (is_unsure[i] != 0) unsure[count++] = i;
  if (count == 0) return;
  ShortRows<Element> again(rows.classes, count);
  for (int64_t c = 0; c < rows.classes; ++c)
    for (int64_t i = 0; i < count; ++i) again.column(c)[i] = rows.column(c)[unsure[i]];
  ShortRowsSums exact;
  sum_short_rows<true>(again, exact);
  for (int64_t i = 0; i < count; ++i) below[unsure[i]] = CrossEntropyKeptSum<Element>(exact.below[i], true).kept();
}

// LogProb of many rows.
template <class Element>
HWY_NOINLINE void log_probs_of(const float* most, const double* log_sum, int64_t count, float* high, float* low) {
  const hn::CappedTag<double, kColumns> d;
  const hn::Rebind<float, decltype(d)> narrow;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto largest = load_as(d, most + i), logarithm = hn::Load(d, log_sum + i);
    const auto rounded = hn::DemoteTo(narrow, hn::Add(largest, logarithm));
    const auto of_high = hn::PromoteTo(d, rounded);
    auto lost = hn::Sub(logarithm, hn::Sub(of_high, largest));
    if constexpr (sizeof(Element) == 2)  // shows_low
      lost = hn::IfThenElseZero(hn::Lt(logarithm, hn::Mul(hn::Set(d, 0x1p-9), hn::Abs(of_high))), lost);
    hn::StoreU(rounded, narrow, high + i);
    hn::StoreU(hn::DemoteTo(narrow, lost), narrow, low + i);
  }
}

// The logarithms of the probabilities, of rows whose numbers high and low hold.
template <class Element>
HWY_NOINLINE void write_short_rows(const ShortRows<Element>& rows, const float* high, const float* low,
                                   ShortRows<Element>& to) {
  const hn::CappedTag<float, kColumns> d;
  for (int64_t c = 0; c < rows.classes; ++c)  // in order: what reaches past a column is written over by the next one
    for (int64_t row = 0; row < rows.count; row += static_cast<int64_t>(hn::Lanes(d)))
      store_as(hn::Sub(hn::Sub(load_as(d, rows.column(c) + row), hn::Load(d, high + row)), hn::Load(d, low + row)), d,
               to.column(c) + row);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
