// SPDX-License-Identifier: MIT
// What both kernels of the cross entropy need: labels, their sums, and tiles of a matrix of any strides.  Compiled once
// per SIMD target.
#if defined(DESCEND_OPS_CROSS_ENTROPY_LOSS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_CROSS_ENTROPY_LOSS_CPU_INL_H
#undef DESCEND_OPS_CROSS_ENTROPY_LOSS_CPU_INL_H
#else
#define DESCEND_OPS_CROSS_ENTROPY_LOSS_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/loops/boxes.h"
#include "src/loops/convert_cpu-inl.h"
#include "src/loops/move.h"
#include "src/loops/reduce_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kNoClass = -1;
inline constexpr int64_t kShort = 32;  // classes: what a row costs by itself is more than what its elements cost

// The labels and weights at their addresses.
struct Labels {
  const CrossEntropyLabels& of;
  const void* target;
  const float* weight;  // null: all are 1

  // The class of a row; kNoClass for one that does not count.  Nothing else is ever an index.
  int64_t operator[](int64_t row) const {
    const int64_t at = row * of.target_stride;
    const int64_t label = of.index == DataType::kInt32 ? static_cast<const int32_t*>(target)[at]
                                                       : static_cast<const int64_t*>(target)[at];
    return label == of.ignored || label < 0 || label >= of.classes ? kNoClass : label;
  }
  double weight_of(int64_t one) const { return weight ? double{weight[one * of.weight_stride]} : 1; }

  // Over the rows that count: of weights, and how many there are.
  double sum_of_weights() const {
    return sum_terms(of.rows, [&](int64_t begin, int64_t n, double* terms) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t label = (*this)[begin + i];
        terms[i] = label == kNoClass ? 0 : weight_of(label);
      }
    });
  }
  double count() const {
    return sum_terms(of.rows, [&](int64_t begin, int64_t n, double* terms) {
      for (int64_t i = 0; i < n; ++i) terms[i] = (*this)[begin + i] == kNoClass ? 0 : 1;
    });
  }
  // Over all classes.
  double sum_of_all_weights() const {
    if (!weight) return static_cast<double>(of.classes);
    return sum_terms(of.classes, [&](int64_t begin, int64_t n, double* terms) {
      for (int64_t i = 0; i < n; ++i) terms[i] = weight_of(begin + i);
    });
  }
  // Those of classes [begin, begin + n), n <= kTile, as neighbours; `buffer` is used where they are not.
  const float* weights(int64_t begin, int64_t n, float* buffer) const {
    const float* at = weight + begin * of.weight_stride;
    if (of.weight_stride == 1) return at;
    gather(axes_of(1, &n, &of.weight_stride), sizeof(float), at, buffer);
    return buffer;
  }
};

// A part of a matrix whose rows are runs of neighbours, `pitch` apart.
template <class Element> struct MatrixTile {
  Element* rows;
  int64_t pitch;
  Element* operator[](int64_t row) const { return rows + row * pitch; }
};

inline constexpr int64_t kColumnBytes = 4 * kCacheLine;  // of a column that are read at a time where rows lie across
inline constexpr int64_t kTileBytes = kTile * kColumnBytes;  // a tile of as many rows

template <class Element> struct Matrix {
  Element* data;
  CrossEntropyMatrixStrides stride;

  // How many rows to take at a time: more than one where neighbours in memory lie along a column.
  static constexpr int64_t kMostRows = kColumnBytes / static_cast<int64_t>(sizeof(Element));
  int64_t group() const {
    const bool across = stride.column != 1 && detail::magnitude(stride.row) < detail::magnitude(stride.column);
    return across ? kMostRows : 1;
  }
  bool direct() const { return stride.column == 1; }
  bool packed(int64_t columns) const { return direct() && stride.row == columns; }
  Element* at(int64_t row, int64_t column) const { return data + row * stride.row + column * stride.column; }

  // Where the tile is, or where it has to be copied: in `buffer`, of kTileBytes.
  MatrixTile<Element> place(int64_t row, int64_t column, int64_t columns, void* buffer) const {
    if (direct()) return {at(row, column), stride.row};
    return {static_cast<Element*>(buffer), columns};
  }
  MatrixTile<Element> read(int64_t row, int64_t rows, int64_t column, int64_t columns, void* buffer) const {
    if (!direct()) gather(axes(rows, columns), sizeof(Element), at(row, column), buffer);
    return place(row, column, columns, buffer);
  }
  void write(int64_t row, int64_t rows, int64_t column, int64_t columns, const MatrixTile<Element>& tile) const {
    if (!direct()) scatter(axes(rows, columns), sizeof(Element), tile.rows, at(row, column));
  }

 private:
  Axes axes(int64_t rows, int64_t columns) const {
    const int64_t extent[] = {rows, columns}, strides[] = {stride.row, stride.column};
    return axes_of(2, extent, strides);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
