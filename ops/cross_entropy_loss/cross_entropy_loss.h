// SPDX-License-Identifier: MIT
// The cross entropy of scores and class labels and its gradient, as the API sees them.
#pragma once
#include <optional>
#include <string_view>

#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/base/environment.h"
#include "src/plan/catalog.h"

namespace descend {

struct CrossEntropyLoss {
  struct Params {
    const aclTensor* input;
    const aclTensor* target;
    const aclTensor* weightOptional;
    const char* reductionOptional;
    int64_t ignoreIndex;
    double labelSmoothing;
    double lseSquareScaleForZloss;
    bool returnZloss;
    const aclTensor* lossOut;
    const aclTensor* logProbOut;
    const aclTensor* zlossOut;
    const aclTensor* lseForZlossOut;
  };
  static const Spec<Params>& spec();           // what a call must satisfy
  static void plan(const Params&, Planner&);   // what it launches
  static void reference(const Params&);        // what it means
  static void advise(const Params&, Advice&);  // what a card would say
};

struct CrossEntropyLossGrad {
  struct Params {
    const aclTensor* gradLoss;
    const aclTensor* logProb;
    const aclTensor* target;
    const aclTensor* weightOptional;
    const aclTensor* gradZlossOptional;
    const aclTensor* lseForZlossOptional;
    const char* reductionOptional;
    int64_t ignoreIndex;
    double labelSmoothing;
    double lseSquareScaleForZloss;
    const aclTensor* out;
  };
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
  static void advise(const Params&, Advice&);
};

// The parameter `reductionOptional`; empty for a text that is none of the three.
inline std::optional<CrossEntropyReduction> cross_entropy_reduction(const char* text) {
  const std::string_view name = text ? text : "mean";
  if (name == "none") return CrossEntropyReduction::kNone;
  if (name == "mean") return CrossEntropyReduction::kMean;
  if (name == "sum") return CrossEntropyReduction::kSum;
  return std::nullopt;
}

// The labels' part of the kernels' arguments; the matrix is (N, C).
inline CrossEntropyLabels cross_entropy_labels(const aclTensor& matrix, const aclTensor& target,
                                               const aclTensor* weight, int64_t ignoreIndex) {
  return {.rows = matrix.shape[0],
          .classes = matrix.shape[1],
          .index = target.dtype,
          .target_stride = target.strides[0],
          .weight_stride = weight ? weight->strides[0] : 0,
          .ignored = ignoreIndex};
}
// Of a tensor with a number a row, or one for all rows.
inline int64_t cross_entropy_row_stride(const aclTensor* t) {
  return t && t->shape.size() == 1 && t->shape[0] != 1 ? t->strides[0] : 0;
}

// The extension under which the parameters of the z-loss have an effect.
inline constexpr const char* kZlossExtension = "zloss";

// What both contracts say alike.  A shape, and a text or number that cannot be, is the tiling's failure; these rules
// take tensors of any rank, since a wrong dtype is answered before a wrong shape.
using CrossEntropyDtypes = Dtypes<float, float16, bfloat16>;
inline std::vector<Product> cross_entropy_products() { return {Product::kAscend950, Product::kA3, Product::kA2}; }
inline auto cross_entropy_int32_on_one_product() { return dtype_not_on<int32_t>({Product::kA2, Product::kA3}); }

inline void cross_entropy_break_shape(aclTensor& t) {
  t.shape.push_back(2);
  t.strides = row_major(t.shape);
}
inline auto cross_entropy_is_matrix() {
  return answered_with(Code::kTiling,
                       where<Stage::kShape>(
                           "has the shape (N, C), C above 0",
                           [](const aclTensor& t, const auto&) { return t.shape.size() == 2 && t.shape[1] > 0; },
                           [](aclTensor& t, auto&) { cross_entropy_break_shape(t); }));
}
// (N) or (C) of the matrix; which one is `dimension`.  Holds when there is no such matrix: that is another's rule.
template <class P> auto cross_entropy_along(const aclTensor* P::*matrix, size_t dimension) {
  return where<Stage::kShape>(
      cat("has the shape ", dimension == 0 ? "(N)" : "(C)"),
      [=](const aclTensor& t, const P& p) {
        const Shape& whole = (p.*matrix)->shape;
        return whole.size() != 2 || t.shape == Shape{whole[dimension]};
      },
      [](aclTensor& t, P&) { cross_entropy_break_shape(t); });
}
inline auto cross_entropy_reduction_rule() {
  return answered_with(Code::kTiling,
                       where(
                           "is \"none\", \"mean\" or \"sum\"",
                           [](const char* text, const auto&) { return cross_entropy_reduction(text).has_value(); },
                           [](const char*& text, auto&) { text = "average"; }));
}
inline auto cross_entropy_smoothing_rule() {
  return answered_with(Code::kTiling, between<double>(0, 1, "is from 0 to 1"));
}

}  // namespace descend
