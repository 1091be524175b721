// SPDX-License-Identifier: MIT
// The smooth L1 loss and its gradient, as the API sees them.
#pragma once
#include "src/plan/catalog.h"

namespace descend {

struct SmoothL1Loss {
  struct Params {
    const aclTensor* self;
    const aclTensor* target;
    int64_t reduction;
    float beta;
    const aclTensor* result;
  };
  static const Spec<Params>& spec();           // what a call must satisfy
  static void plan(const Params&, Planner&);   // what it launches
  static void reference(const Params&);        // what it means
  static void advise(const Params&, Advice&);  // what a card would say
};

struct SmoothL1LossBackward {
  struct Params {
    const aclTensor* gradOut;
    const aclTensor* self;
    const aclTensor* target;
    int64_t reduction;
    float beta;
    const aclTensor* gradInput;
  };
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
};

// The parameter `reduction`.
enum SmoothL1Reduction : int64_t { kSmoothL1None = 0, kSmoothL1Mean = 1, kSmoothL1Sum = 2 };

// What both contracts say alike: the page's product table, dtypes and numbers.
using SmoothL1Dtypes = Dtypes<float, float16, bfloat16>;
inline std::vector<Product> smooth_l1_products() {
  return {Product::kAscend950, Product::kA3, Product::kA2, Product::kAtlasInference, Product::kAtlasTraining};
}
inline auto smooth_l1_without_bf16() {
  return dtype_not_on<bfloat16>({Product::kAtlasInference, Product::kAtlasTraining});
}
inline auto smooth_l1_reduction() {
  return between<int64_t>(kSmoothL1None, kSmoothL1Sum, "is 0 (none), 1 (mean) or 2 (sum)");
}

// What the tensors are computed in.
template <class... Tensors> DataType smooth_l1_promotion(const aclTensor& first, const Tensors&... others) {
  DataType dtype = first.dtype;
  ((dtype = *promote(dtype, others.dtype)), ...);
  return dtype;
}

}  // namespace descend
