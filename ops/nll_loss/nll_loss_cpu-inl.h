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
      : all_(&classes.weight), first_(static_cast<const Bits*>(weight)), line_(all_->contiguous(0)) {}
  HWY_INLINE const Bits* at(int64_t c) const { return first_ + (HWY_LIKELY(line_) ? c : offset(*all_, c)); }

 private:
  HWY_NOINLINE static int64_t offset(const Iteration<1>& all, int64_t c) {
    int64_t at = 0;
    for_each_run(all, 0, c, 1, [&](int64_t element, int64_t, int64_t) { at = element; });
    return at;
  }
  const Iteration<1>* all_;
  const Bits* first_;
  bool line_;
};

template <int N> int64_t innermost_stride(const Iteration<N>& points, int k) {
  return points.rank > 0 ? points.stride[k][points.rank - 1] : 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
