// SPDX-License-Identifier: MIT
// What the contracts of the four functions say alike.
#pragma once
#include "ops/nll_loss/nll_loss.h"

namespace descend {

inline std::vector<Product> nll_products() {
  return {Product::kAscend950, Product::kA3, Product::kA2, Product::kAtlasTraining};
}
inline auto nll_dtype() { return dtype_in(Dtypes<float, float16, bfloat16>{}); }
inline auto nll_without_bf16() { return dtype_not_on<bfloat16>({Product::kAtlasTraining}); }
inline auto nll_target_dtype() { return dtype_in(Dtypes<int64_t, int32_t, uint8_t>{}); }
inline auto nll_reduction() { return between<int64_t>(kNLLNone, kNLLSum, "is 0 (none), 1 (mean) or 2 (sum)"); }

namespace detail {
inline void make_longer(aclTensor& t) {
  t.shape.push_back(2);
  t.strides = row_major(t.shape);
}
}  // namespace detail

template <class P> auto nll_one_target_a_position() {
  return where<Stage::kShape>(
      "has the shape of self without the dimension of its classes",
      [](const aclTensor& t, const P& p) {
        return t.shape == without_classes(p.self->shape, class_dimension(*p.self));
      },
      [](aclTensor& t, P&) { detail::make_longer(t); });
}

template <class P> auto nll_one_weight_a_class() {
  return where<Stage::kShape>(
      "has as many elements as self has classes",
      [](const aclTensor& t, const P& p) { return size_of(t) == class_count(*p.self); },
      [](aclTensor& t, P& p) {
        t.shape[t.shape.size() - 1] = class_count(*p.self) + 1;
        t.strides = row_major(t.shape);
      });
}

// Whether reduction is one of the three is a later stage's to say.
template <class P> auto nll_loss_shape() {
  return where<Stage::kShape>(
      "has the shape of target when reduction is 0, one element when it is 1 or 2",
      [](const aclTensor& t, const P& p) {
        if (p.reduction == kNLLNone) return t.shape == p.target->shape;
        return (p.reduction != kNLLMean && p.reduction != kNLLSum) || size_of(t) == 1;
      },
      [](aclTensor& t, P&) { detail::make_longer(t); });
}

template <class P> auto nll_loss_gradient_shape() {
  return where<Stage::kShape>(
      "has the shape of target when reduction is 0, one element in at most 1 dimension when it is 1 or 2",
      [](const aclTensor& t, const P& p) {
        if (p.reduction == kNLLNone) return t.shape == p.target->shape;
        return (p.reduction != kNLLMean && p.reduction != kNLLSum) || (t.shape.size() <= 1 && size_of(t) == 1);
      },
      [](aclTensor& t, P&) { detail::make_longer(t); });
}

// Of the functions of rows: where there is a target there is a class it could be.
template <class P> auto nll_has_classes() {
  return where<Stage::kShape>(
      "has a class when target is not empty",
      [](const aclTensor& self, const P& p) { return class_count(self) != 0 || size_of(*p.target) == 0; },
      [](aclTensor& self, P&) { self.shape[class_dimension(self)] = 0; });
}

}  // namespace descend
