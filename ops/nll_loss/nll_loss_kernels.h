// SPDX-License-Identifier: MIT
// What the kernels of the negative log likelihood loss take.  Seen by phase one and by every backend.
//
// A position is an index of target; each has its classes, `class_stride` elements apart.
#pragma once
#include "src/device/kernel.h"
#include "src/tensor/iteration.h"

namespace descend {

// How the kernels see targets and weights.
struct NLLClasses {
  int64_t count;
  int64_t ignored;      // targets that are this number count for nothing, nor do those that are no class
  Iteration<1> weight;  // a class a point, in order
  DataType rounded;     // self's dtype: results are rounded to it, then cast
};

struct NLLLossArgs {
  Iteration<3> points;  // out, target, self at its first class
  NLLClasses classes;
  int64_t class_stride;  // of self
};
// Operands: out, target, self, weight.
inline constexpr Kernel<NLLLossArgs> kNLLLoss{"nll_loss"};

struct NLLLossTotalArgs {
  Iteration<2> points;  // target, self at its first class: all positions, in row-major order
  NLLClasses classes;
  int64_t class_stride;       // of self
  DataType out, totalWeight;  // dtypes of those operands, one element each
  bool mean;
};
// Operands: target, self, weight, out, totalWeightOut.
inline constexpr Kernel<NLLLossTotalArgs> kNLLLossTotal{"nll_loss_total"};

struct NLLLossBackwardArgs {
  Iteration<3> points;  // out at its first class, target, gradOutput
  NLLClasses classes;
  int64_t class_stride;  // of out
  bool reduced;          // gradOutput is one number
  bool mean;
};
// Operands: out, target, gradOutput, weight, totalWeight.
inline constexpr Kernel<NLLLossBackwardArgs> kNLLLossBackward{"nll_loss_backward"};

}  // namespace descend
