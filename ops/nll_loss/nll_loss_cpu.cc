// SPDX-License-Identifier: MIT
// The negative log likelihood loss on the CPU.
//
// A position's loss is one product.  In float it is rounded once, and of two FLOAT16 or BF16 it is exact, so that
// rounding it to those is the only rounding; in double, for the sums, it is exact for all three.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nll_loss/nll_loss_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/nll_loss/nll_loss_cpu-inl.h"
#include "ops/nll_loss/nll_loss_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

constexpr int64_t kInCache = 1 << 17;        // positions whose lines of memory the caches may hold
constexpr int64_t kPositions = kChunk / 16;  // that a thread takes at a time: each has a line of 16 elements
constexpr int64_t kAhead = 64;               // positions whose elements are asked for before they are needed
constexpr int64_t kLinesAhead = 16;          // lines of memory that are, where nearly all of them are needed

// What is asked for before it is needed: nothing where the caches may hold it; a line a row, in order, where rows are
// short and their elements lie in nearly all lines; or else the element that a target names.  Cores that fetch a
// stretch of memory by themselves lose their way if some of its lines are asked for far ahead: 8388608 rows of 10
// floats took two cores of a Neoverse V1 20 ms with elements asked for and take 9.5 with lines.
enum class Ask { kNothing, kLines, kElements };

// Positions of one row: their targets, and their elements of class 0, so many elements apart.
template <class Target, class Element> struct PickedRow {
  const Target* target;
  const Element* self;
  int64_t target_step, self_step, count;
};

// The weights and the elements of self of those positions: 0 and -0 where one counts for nothing, so that its loss is
// 0.
//
// On its own, so that all it needs is in registers: most of the time goes by waiting for memory, the less the fewer
// instructions lie between two positions.  For the same reason products are of Factors, which hold all classes and
// their stride: of 32 bits they are much faster.
template <Ask ask, class Target, class Factor, class Element, class To>
HWY_NOINLINE void pick_row(const PickedRow<Target, Element> row, const Counts counts, const Weights<Element> weight_of,
                           const Factor stride, const Element minus_zero, To* weights, To* x) {
  const Target* target = row.target;
  const Element* self = row.self;
  for (int64_t i = 0; i < row.count; ++i, target += row.target_step, self += row.self_step) {
    if (ask == Ask::kLines)  // also behind the last row, where it does nothing
      __builtin_prefetch(reinterpret_cast<const std::byte*>(self) + kLinesAhead * kCacheLine);
    if (ask == Ask::kElements && i + kAhead < row.count) {  // nothing but the target says where the elements are
      const int64_t c = static_cast<int64_t>(target[kAhead * row.target_step]);
      if (counts(c)) __builtin_prefetch(self + kAhead * row.self_step + int64_t{static_cast<Factor>(c)} * stride);
    }
    const int64_t c = static_cast<int64_t>(*target);
    if (HWY_LIKELY(counts(c))) {
      x[i] = static_cast<To>(self[int64_t{static_cast<Factor>(c)} * stride]);
      weights[i] = static_cast<To>(*weight_of.at(c));
    } else {
      x[i] = static_cast<To>(minus_zero);
      weights[i] = To{0};
    }
  }
}

// The same of positions [first, first + n); target and self are operands k and k + 1 of the points.
template <class Target, class Factor, class Element, int N, class To>
void pick(const NLLClasses& classes, int64_t class_stride, const Iteration<N>& points, int k, const void* target,
          const void* self, const void* weight, int64_t first, int64_t n, Element minus_zero, To* weights, To* x) {
  const int64_t step = innermost_stride(points, k + 1);
  const bool short_rows =
      class_stride == 1 && classes.count <= step && step <= 2 * kCacheLine / static_cast<int64_t>(sizeof(Element));
  const auto picks = points.points() <= kInCache ? pick_row<Ask::kNothing, Target, Factor, Element, To>
                     : short_rows                ? pick_row<Ask::kLines, Target, Factor, Element, To>
                                                 : pick_row<Ask::kElements, Target, Factor, Element, To>;
  for_each_row(points, first, n, [&](const int64_t* element, int64_t count) {
    const PickedRow<Target, Element> row{static_cast<const Target*>(target) + element[k],
                                         static_cast<const Element*>(self) + element[k + 1],
                                         innermost_stride(points, k), innermost_stride(points, k + 1), count};
    picks(row, Counts(classes), Weights<Element>(classes, weight), static_cast<Factor>(class_stride), minus_zero,
          weights, x);
    weights += count, x += count;
  });
}

// The loss and the weight of those positions.
template <int N, class T>
void load_losses(const NLLClasses& classes, int64_t class_stride, const Iteration<N>& points, int k, const void* target,
                 const void* self, const void* weight, int64_t first, int64_t n, T* loss, T* weights) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const bool narrow = classes.count <= kMost && -kMost <= class_stride && class_stride <= kMost;
  const auto pick_as = [&]<class Element, class To>(Element minus_zero, To* to_weights, To* x) {
    visit(IndexTypes{}, points.dtype[k], [&]<class Target> {
      const auto function = narrow ? pick<Target, int32_t, Element, N, To> : pick<Target, int64_t, Element, N, To>;
      function(classes, class_stride, points, k, target, self, weight, first, n, minus_zero, to_weights, x);
    });
  };
  if (points.dtype[k + 1] == DataType::kFloat) {
    pick_as(-0.0F, weights, loss);
  } else {  // as they are in size, to be converted several at a time
    HWY_ALIGN uint16_t raw_weights[kTile], raw_x[kTile];
    pick_as(uint16_t{0x8000}, raw_weights, raw_x);
    const LoadRun<T> load = loader<T>(points.dtype[k + 1]);
    load(raw_weights, n, weights);
    load(raw_x, n, loss);
  }
  for (int64_t i = 0; i < n; ++i) loss[i] = -(weights[i] * loss[i]);
}

void NLLLossCpu(const NLLLossArgs& a, void* const* data) {
  const RoundRun<float> round = a.points.dtype[0] == a.classes.rounded ? nullptr : rounder<float>(a.classes.rounded);
  parallel_for(a.points.points(), kPositions, [&](int64_t begin, int64_t end) {
    HWY_ALIGN float loss[kTile], weights[kTile];
    for (int64_t first = begin; first < end; first += kTile) {
      const int64_t n = std::min(kTile, end - first);
      load_losses(a.classes, a.class_stride, a.points, 1, data[1], data[2], data[3], first, n, loss, weights);
      if (round) round(loss, n);
      store_points(a.points, 0, data[0], first, n, loss);
    }
  });
}

// The sums of few positions' losses and weights, in one row.  What the tile below would be, its columns hold a term
// each: the same additions without the way there, which takes longer than they do.
constexpr int64_t kFew = kSumColumns<double>;
template <class Target, class Element>
HWY_NOINLINE std::array<double, 2> sum_few(const NLLLossTotalArgs& a, void* const* data) {
  double losses[kFew] = {}, weights[kFew] = {};
  const Counts counts(a.classes);
  const Weights<Element> weight_of(a.classes, data[2]);
  const auto* target = static_cast<const Target*>(data[0]);
  const auto* self = static_cast<const Element*>(data[1]);
  const int64_t target_step = innermost_stride(a.points, 0), self_step = innermost_stride(a.points, 1);
  const int64_t n = a.points.points();
  for (int64_t i = 0; i < n; ++i, target += target_step, self += self_step) {
    const int64_t c = static_cast<int64_t>(*target);
    if (!counts(c)) continue;
    const double weight = widen<double>(*weight_of.at(c));
    losses[i] = 0.0 + -(weight * widen<double>(self[c * a.class_stride]));
    weights[i] = 0.0 + weight;
  }
  return {sum_as_tree<kFew>(losses), sum_as_tree<kFew>(weights)};
}

std::array<double, 2> sum_losses(const NLLLossTotalArgs& a, void* const* data) {
  std::array<double, 2> sums{};
  if (a.points.rank <= 1 && a.points.points() <= kFew) {
    visit(IndexTypes{}, a.points.dtype[0], [&]<class Target> {
      visit(Dtypes<float, float16, bfloat16>{}, a.points.dtype[1],
            [&]<class Element> { sums = sum_few<Target, Element>(a, data); });
    });
    return sums;
  }
  const auto fill = [&](int64_t begin, int64_t n, double(*terms)[kTile]) {
    load_losses(a.classes, a.class_stride, a.points, 0, data[0], data[1], data[2], begin, n, terms[0], terms[1]);
  };
  return sum_term_lists<2>(a.points.points(), fill, kPositions / kTile);
}

void NLLLossTotalCpu(const NLLLossTotalArgs& a, void* const* data) {
  const auto [loss, weight] = sum_losses(a, data);
  const auto store = [&](double v, DataType dtype, void* to) {
    // What is rounded as it is stored need not be rounded before.
    store_number(v, dtype == a.classes.rounded ? DataType::kDouble : a.classes.rounded, dtype, to);
  };
  store(a.mean ? loss / weight : loss, a.out, data[3]);
  store(weight, a.totalWeight, data[4]);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(NLLLossCpu);
HWY_EXPORT(NLLLossTotalCpu);

Status nll_loss(const NLLLossArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(NLLLossCpu)(a, data);
  return {};
}
Status nll_loss_total(const NLLLossTotalArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(NLLLossTotalCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered[] = {cpu_kernels().add(kNLLLoss, nll_loss),
                                            cpu_kernels().add(kNLLLossTotal, nll_loss_total)};

}  // namespace
}  // namespace descend
#endif
