// SPDX-License-Identifier: MIT
// Views and arguments that the plans of the four functions have in common.
#pragma once
#include "ops/nll_loss/nll_loss.h"
#include "ops/nll_loss/nll_loss_kernels.h"

namespace descend {

// A view of self's shape at its first class: one element a position.
inline aclTensor at_first_class(const aclTensor& t) {
  aclTensor first = t;
  first.shape = without_classes(t.shape, class_dimension(t));
  first.strides = without_classes(t.strides, class_dimension(t));
  if (size_of(t) == 0) first.strides.assign(first.shape.size(), 0);  // of nothing the strides may be anything
  return first;
}
inline int64_t class_stride(const aclTensor& t) { return t.strides[class_dimension(t)]; }

template <class P> NLLClasses nll_classes(const P& p) {
  return {.count = class_count(*p.self),
          .ignored = p.ignoreIndex,
          .weight = iterate_in_order<1>(p.weight->shape, {p.weight}),
          .rounded = p.self->dtype};
}

}  // namespace descend
