// SPDX-License-Identifier: MIT
// The negative log likelihood loss and its gradient, of rows of classes and of planes of them, as the API sees them.
#pragma once
#include "src/plan/catalog.h"

namespace descend {

struct NLLLossParams {
  const aclTensor* self;
  const aclTensor* target;
  const aclTensor* weight;
  int64_t reduction;
  int64_t ignoreIndex;
  const aclTensor* out;
  const aclTensor* totalWeightOut;
};

struct NLLLossBackwardParams {
  const aclTensor* gradOutput;
  const aclTensor* self;
  const aclTensor* target;
  const aclTensor* weight;
  int64_t reduction;
  int64_t ignoreIndex;
  const aclTensor* totalWeight;
  const aclTensor* out;
};

// self is (N, C) or (C).
struct NLLLoss {
  using Params = NLLLossParams;
  static const Spec<Params>& spec();           // what a call must satisfy
  static void plan(const Params&, Planner&);   // what it launches
  static void reference(const Params&);        // what it means
  static void advise(const Params&, Advice&);  // what a card would say
};
struct NLLLossBackward {
  using Params = NLLLossBackwardParams;
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
  static void advise(const Params&, Advice&);
};

// self is (N, C, H, W).
struct NLLLoss2d {
  using Params = NLLLossParams;
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
  static void advise(const Params&, Advice&);
};
struct NLLLoss2dBackward {
  using Params = NLLLossBackwardParams;
  static const Spec<Params>& spec();
  static void plan(const Params&, Planner&);
  static void reference(const Params&);
  static void advise(const Params&, Advice&);
};

// The parameter `reduction`.
enum NLLReduction : int64_t { kNLLNone = 0, kNLLMean = 1, kNLLSum = 2 };

// The dimension of self that counts classes.
inline size_t class_dimension(const aclTensor& self) { return self.shape.size() < 2 ? 0 : 1; }
inline int64_t class_count(const aclTensor& self) { return self.shape[class_dimension(self)]; }

// Dims of self without the one of the classes: the positions, each of which has a target.
inline Dims without_classes(const Dims& dims, size_t class_dimension) {
  Dims left;
  for (size_t k = 0; k < dims.size(); ++k)
    if (k != class_dimension) left.push_back(dims[k]);
  return left;
}

}  // namespace descend
