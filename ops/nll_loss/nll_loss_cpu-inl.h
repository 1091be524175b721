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

#include <cstdint>

#include "ops/nll_loss/nll_loss_kernels.h"
#include "src/loops/reduce_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// The classes of positions [first, first + n), from targets, which are operand k of the points.  A position that counts
// for nothing has -1: no other code sees a number from memory that is no class.
template <int N>
void load_classes(const NLLClasses& classes, const Iteration<N>& points, int k, const void* targets, int64_t first,
                  int64_t n, int64_t* to) {
  load_indices(points, k, targets, first, n, to);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t t = to[i];
    to[i] = t != classes.ignored && t >= 0 && t < classes.count ? t : -1;
  }
}

// to[i] = the element of base that at(i, index[i]) names, 0 where there is no class.  The elements are FLOAT, FLOAT16
// or BF16: picked as they are and converted all at once.
template <class T, class At>
void pick(const void* base, DataType dtype, const int64_t* index, int64_t n, T* to, const At& at) {
  HWY_ALIGN uint32_t raw[kTile];
  const auto move = [&]<class Bits>(Bits* picked) {
    const auto* from = static_cast<const Bits*>(base);
    for (int64_t i = 0; i < n; ++i) picked[i] = index[i] < 0 ? Bits{0} : from[at(i, index[i])];
  };
  if (size_of(dtype) == sizeof(uint16_t))
    move(reinterpret_cast<uint16_t*>(raw));
  else
    move(raw);
  loader<T>(dtype)(raw, n, to);
}

// The weights of the positions' classes.
template <class T>
void load_weights(const NLLClasses& classes, const void* weight, const int64_t* index, int64_t n, T* to) {
  const Iteration<1>& all = classes.weight;
  const int64_t step = all.rank == 1 ? all.stride[0][0] : 0;
  if (all.rank <= 1) return pick(weight, all.dtype[0], index, n, to, [=](int64_t, int64_t c) { return c * step; });
  pick(weight, all.dtype[0], index, n, to, [&](int64_t, int64_t c) {
    int64_t at = 0;
    for_each_run(all, 0, c, 1, [&](int64_t element, int64_t, int64_t) { at = element; });
    return at;
  });
}

// Where the positions' elements of operand k are, from its first.
template <int N> void load_offsets(const Iteration<N>& points, int k, int64_t first, int64_t n, int64_t* to) {
  for_each_run(points, k, first, n, [&](int64_t element, int64_t step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) *to++ = element + i * step;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
