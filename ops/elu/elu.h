// SPDX-License-Identifier: MIT
// The ELU operators, as the API sees them.
#pragma once
#include "src/plan/catalog.h"

namespace descend {

struct Elu {
  struct Params {
    const aclTensor* self;
    const aclScalar* alpha;
    const aclScalar* scale;
    const aclScalar* inputScale;
    const aclTensor* out;
  };
  static const Spec<Params>& spec();          // what a call must satisfy
  static void plan(const Params&, Planner&);  // what it launches
  static void reference(const Params&);       // what it means
};

struct InplaceElu {
  struct Params {
    const aclTensor* selfRef;
    const aclScalar* alpha;
    const aclScalar* scale;
    const aclScalar* inputScale;
  };
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
};

struct EluBackward {
  struct Params {
    const aclTensor* gradOutput;
    const aclScalar* alpha;
    const aclScalar* scale;
    const aclScalar* inputScale;
    bool isResult;
    const aclTensor* selfOrResult;
    const aclTensor* gradInput;
  };
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
};

// The pages' product table.
inline std::vector<Product> elu_products() {
  return {Product::kAscend950, Product::kA3, Product::kA2, Product::kAtlasInference, Product::kAtlasTraining};
}

}  // namespace descend
