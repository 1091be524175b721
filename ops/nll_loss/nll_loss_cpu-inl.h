// SPDX-License-Identifier: MIT
// What the loss and its gradient do alike on the CPU: which class a position counts for, and the elements that belong
// to it.  Compiled once per SIMD target.
#if defined(DESCEND_OPS_NLL_LOSS_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_OPS_NLL_LOSS_CPU_INL_H
#undef DESCEND_OPS_NLL_LOSS_CPU_INL_H
#else
#define DESCEND_OPS_NLL_LOSS_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ops/nll_loss/nll_loss_kernels.h"
#include "src/loops/reduce_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// Whether a target names a class that counts: no other code trusts a number from memory.
struct Counts {
  uint64_t classes;
  int64_t ignored;
  explicit Counts(const NLLClasses& c) : classes(static_cast<uint64_t>(c.count)), ignored(c.ignored) {}
  HWY_INLINE bool operator()(int64_t target) const {
    return (static_cast<uint64_t>(target) < classes) & (target != ignored);
  }
};

// The weights by class, as what they are in size.
template <class Bits> class Weights {
 public:
  Weights(const NLLClasses& classes, const void* weight)
      : all_(classes.weight), first_(static_cast<const Bits*>(weight)), line_(all_.contiguous(0)) {}
  HWY_INLINE const Bits* at(int64_t c) const { return first_ + (HWY_LIKELY(line_) ? c : offset(c)); }

 private:
  HWY_NOINLINE int64_t offset(int64_t c) const {
    int64_t at = 0;
    for_each_run(all_, 0, c, 1, [&](int64_t element, int64_t, int64_t) { at = element; });
    return at;
  }
  const Iteration<1>& all_;
  const Bits* first_;
  bool line_;
};

// Calls body(element, count) for each run of the points [first, first + n): `count` points whose steps are the strides
// of the innermost dimension, operand k's from element[k] elements after its first.
template <int N, class Body> void for_each_row(const Iteration<N>& points, int64_t first, int64_t n, const Body& body) {
  int64_t element[N] = {};
  if (points.rank == 0) return body(element, n);
  const int last = points.rank - 1;
  while (n > 0) {
    int64_t rest = first, count = n;
    for (int i = last; i >= 0; --i) {
      const int64_t at = i == 0 ? rest : rest % points.extent[i];
      if (i == last) count = std::min(n, points.extent[i] - at);
      for (int k = 0; k < N; ++k) element[k] = (i == last ? 0 : element[k]) + at * points.stride[k][i];
      if (i != 0) rest /= points.extent[i];
    }
    body(element, count);
    first += count, n -= count;
  }
}
template <int N> int64_t innermost_stride(const Iteration<N>& points, int k) {
  return points.rank > 0 ? points.stride[k][points.rank - 1] : 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
