// SPDX-License-Identifier: MIT
// The nearest upsampling of volumes and its gradient, as the API sees them.
#pragma once
#include <array>

#include "src/plan/catalog.h"

namespace descend {

struct UpsampleNearest3d {
  struct Params {
    const aclTensor* self;
    const aclIntArray* outputSize;
    double scalesD;
    double scalesH;
    double scalesW;
    const aclTensor* out;
  };
  static const Spec<Params>& spec();           // what a call must satisfy
  static void plan(const Params&, Planner&);   // what it launches
  static void reference(const Params&);        // what it means
  static void advise(const Params&, Advice&);  // what a card would say
};

struct UpsampleNearest3dBackward {
  struct Params {
    const aclTensor* gradOut;
    const aclIntArray* outputSize;
    const aclIntArray* inputSize;
    double scalesD;
    double scalesH;
    double scalesW;
    const aclTensor* gradInput;
  };
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
  static void advise(const Params&, Advice&);
};

// What both contracts say alike: the page's product table and dtypes.
using UpsampleDtypes = Dtypes<float, float16, bfloat16, double>;
inline std::vector<Product> upsample_products() { return {Product::kA3, Product::kA2, Product::kAtlasTraining}; }

// Where a tensor of five dimensions has its N, C, D, H and W.
using UpsampleOrder = std::array<size_t, 5>;
inline UpsampleOrder upsample_order(const aclTensor& t) {
  if (t.format == Format::kNdhwc) return {0, 4, 1, 2, 3};
  return {0, 1, 2, 3, 4};
}
// The dimensions as N, C, D, H, W.
inline std::array<int64_t, 5> upsample_dims(const Dims& dims, const UpsampleOrder& order) {
  return {dims[order[0]], dims[order[1]], dims[order[2]], dims[order[3]], dims[order[4]]};
}
inline std::array<int64_t, 5> upsample_sizes(const aclTensor& t) { return upsample_dims(t.shape, upsample_order(t)); }

// Sizes are judged with the shapes, before they are compared with any.
inline auto upsample_above_0() {
  return where<Stage::kShape>(
      "has elements above 0",
      [](const aclIntArray& a, const auto&) {
        return std::all_of(a.values.begin(), a.values.end(), [](int64_t v) { return v > 0; });
      },
      [](aclIntArray& a, auto&) { a.values[1] = 0; });
}

}  // namespace descend
