// SPDX-License-Identifier: MIT
// What the kernels of the smooth L1 loss take.  Seen by phase one and by every backend.
#pragma once
#include "src/device/kernel.h"
#include "src/tensor/iteration.h"

namespace descend {

struct SmoothL1LossArgs {
  Iteration<3> points;  // result, self, target
  DataType rounded;     // what self's and target's dtypes promote to: the result is rounded to it, then cast
  float beta;
};
inline constexpr Kernel<SmoothL1LossArgs> kSmoothL1Loss{"smooth_l1_loss"};

struct SmoothL1LossTotalArgs {
  Iteration<2> points;  // self, target: all elements of the loss, in row-major order
  DataType rounded;
  DataType result;  // dtype of the third operand, one element
  float beta;
  bool mean;
};
inline constexpr Kernel<SmoothL1LossTotalArgs> kSmoothL1LossTotal{"smooth_l1_loss_total"};

struct SmoothL1LossBackwardArgs {
  Iteration<4> points;  // gradInput, gradOut, self, target
  DataType rounded;     // what the inputs' dtypes promote to
  float beta;
  double divisor;  // the loss's element count for mean, else 1
};
inline constexpr Kernel<SmoothL1LossBackwardArgs> kSmoothL1LossBackward{"smooth_l1_loss_backward"};

struct SmoothL1LossBackwardOfOneArgs {
  Iteration<3> points;  // gradInput, self, target
  DataType gradOut;     // dtype of the fourth operand, one element
  DataType rounded;
  float beta;
  double divisor;
};
inline constexpr Kernel<SmoothL1LossBackwardOfOneArgs> kSmoothL1LossBackwardOfOne{"smooth_l1_loss_backward_of_one"};

}  // namespace descend
