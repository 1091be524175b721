// SPDX-License-Identifier: MIT
// What ELU's kernels take.  Seen by phase one and by every backend.
#pragma once
#include "src/device/kernel.h"
#include "src/tensor/iteration.h"

namespace descend {

// The three numbers, already rounded to the dtype the kernel computes in.
struct EluNumbers {
  double alpha;
  double scale;
  double inputScale;
};

struct EluArgs {
  Iteration<2> points;  // out, self
  DataType rounded;     // self's dtype: the result is rounded to it before it is cast to out's
  EluNumbers numbers;
};
inline constexpr Kernel<EluArgs> kElu{"elu"};

struct EluBackwardArgs {
  Iteration<3> points;  // gradInput, gradOutput, selfOrResult
  DataType rounded;     // gradOutput's dtype
  bool isResult;
  EluNumbers numbers;
};
inline constexpr Kernel<EluBackwardArgs> kEluBackward{"elu_backward"};

}  // namespace descend
