// SPDX-License-Identifier: MIT
// The numbers of the gradient of the negative log likelihood loss on the CPU: one for a position, in one of its
// classes. It is -((gradOutput / totalWeight) * weight) in double for the mean, where no step overflows or loses what
// the last rounding would show, and otherwise one product, as in the loss.
#if defined(DESCEND_OPS_NLL_LOSS_BACKWARD_VALUES_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_NLL_LOSS_BACKWARD_VALUES_CPU_INL_H
#undef DESCEND_OPS_NLL_LOSS_BACKWARD_VALUES_CPU_INL_H
#else
#define DESCEND_OPS_NLL_LOSS_BACKWARD_VALUES_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "ops/nll_loss/nll_loss_backward_cut_cpu-inl.h"
#include "ops/nll_loss/nll_loss_cpu-inl.h"
#include "ops/nll_loss/nll_loss_kernels.h"
#include "src/loops/elementwise_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

inline constexpr int64_t kLargest = sizeof(complex128);  // bytes of an element of out
inline constexpr int64_t kNoClass = -1;                  // no block has it

// Calls body(i) for i from 0 to n - 1, four in a turn: looking one position up takes a few instructions only.  For the
// same reason the bodies are always inlined.
template <class Body> HWY_INLINE void in_fours(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) body(i), body(i + 1), body(i + 2), body(i + 3);
  for (; i < n; ++i) body(i);
}

struct MinusProduct {
  template <class D, class V> HWY_INLINE V operator()(D, V a, V b) const { return hn::Neg(hn::Mul(a, b)); }
};

// The gradients of tiles of positions.
class Gradients {
 public:
  Gradients(const NLLLossBackwardArgs& a, void* const* data) : a_(a), data_(data) {
    if (!a.reduced) return;
    load_points(a.points, 2, data[2], 0, 1, &factor_);
    double total = 1;
    if (a.mean) loader<double>(a.classes.rounded)(data[4], 1, &total);
    factor_ /= total;
    // Then a class has one gradient.  Few classes: all of them now.
    if (a.classes.count > kTile || a.classes.count > a.points.points()) return;
    tabled_ = true;
    HWY_ALIGN double value[kTile];
    load_points(a.classes.weight, 0, data[3], 0, a.classes.count, value);
    scale(value, a.classes.count);
    finish(value, a.classes.count, table_);
  }

  // By class, as elements of out; null where a class has no gradient of its own.
  template <class Bits> const Bits* by_class() const {
    return tabled_ ? reinterpret_cast<const Bits*>(table_) : nullptr;
  }

  // The classes of the tile's positions, kNoClass where one counts for nothing, and the gradients in them, as elements
  // of out.  The targets may be given one after the other.
  template <class Bits> void load(const Tile& tile, const void* targets, int64_t* index, Bits* value) const {
    visit(IndexTypes{}, a_.points.dtype[1], [&]<class Target> {
      const auto* const given = static_cast<const Target*>(targets);
      if (tabled_)
        look_up(tile, given, index, value);
      else if (size_of(a_.classes.rounded) == sizeof(uint16_t))
        compute<uint16_t>(tile, given, index, value);
      else
        compute<uint32_t>(tile, given, index, value);
    });
  }

 private:
  // Writes the classes of those positions and calls body(i, c) for each; c is 0 where it is none.
  template <class Target, class Body>
  void for_each_class(const Tile& tile, const Target* given, int64_t* index, const Body& body) const {
    int64_t done = 0;
    const auto find_run = [&](const Target* targets, int64_t step, int64_t count) {
      const Counts counts(a_.classes);  // copies of the loop's own: in registers, whatever is stored
      const Body of_class = body;
      const auto find = [ =, begin = done ](int64_t i) __attribute__((always_inline)) {
        const int64_t c = static_cast<int64_t>(targets[i * step]);
        const bool is_class = HWY_LIKELY(counts(c));
        index[begin + i] = is_class ? c : kNoClass;
        of_class(begin + i, is_class ? c : 0);
      };
      in_fours(count, find);
      done += count;
    };
    if (given) return find_run(given, 1, tile.positions);
    for_each_run(a_.points, 1, tile.first, tile.positions, [&](int64_t element, int64_t step, int64_t count) {
      find_run(static_cast<const Target*>(data_[1]) + element, step, count);
    });
  }
  template <class Target, class Bits>
  void look_up(const Tile& tile, const Target* given, int64_t* index, Bits* value) const {
    const Bits* const table = by_class<Bits>();
    for_each_class(tile, given, index, [=](int64_t i, int64_t c) { value[i] = table[c]; });
  }
  template <class Weight, class Target, class Bits>
  void compute(const Tile& tile, const Target* given, int64_t* index, Bits* value) const {
    const int64_t n = tile.positions;
    HWY_ALIGN Weight raw[kTile];
    const auto* const line = static_cast<const Weight*>(data_[3]);
    if (a_.classes.weight.contiguous(0)) {  // a loop without a call
      for_each_class(tile, given, index, [=, to = raw](int64_t i, int64_t c) { to[i] = line[c]; });
    } else {
      const Weights<Weight> weight_of(a_.classes, line);
      for_each_class(tile, given, index, [=, to = raw](int64_t i, int64_t c) { to[i] = *weight_of.at(c); });
    }
    if (a_.reduced) {
      HWY_ALIGN double gradient[kTile];
      loader<double>(a_.classes.rounded)(raw, n, gradient);
      scale(gradient, n);
      finish(gradient, n, value);
    } else {
      multiply(tile.first, n, raw, value);
    }
  }
  // Without a reduction: the products of those positions' weights and gradOutput, as elements of out.
  template <class Weight, class Bits> void multiply(int64_t first, int64_t n, Weight* weight, Bits* value) const {
    const DataType dtype = a_.points.dtype[2];
    const int64_t size = static_cast<int64_t>(size_of(dtype));
    for_each_run(a_.points, 2, first, n, [&](int64_t element, int64_t step, int64_t count) {
      const Iteration<3> products{.rank = 1,
                                  .extent = {count},
                                  .stride = {{1}, {1}, {step}},
                                  .dtype = {a_.points.dtype[0], a_.classes.rounded, dtype}};
      void* const data[] = {value, weight, static_cast<std::byte*>(data_[2]) + element * size};
      elementwise<float>(products, data, a_.classes.rounded, MinusProduct());
      value += count, weight += count;
    });
  }
  void scale(double* weight, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) weight[i] = -(factor_ * weight[i]);
  }
  void finish(double* value, int64_t n, void* to) const {
    if (a_.points.dtype[0] != a_.classes.rounded) rounder<double>(a_.classes.rounded)(value, n);
    storer<double>(a_.points.dtype[0])(value, n, to);
  }

  const NLLLossBackwardArgs& a_;
  void* const* data_;
  bool tabled_ = false;
  double factor_ = 1;
  HWY_ALIGN std::byte table_[kTile * kLargest];
};

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
