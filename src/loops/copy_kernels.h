// SPDX-License-Identifier: MIT
// The engine's own kernel: a copy of a view, element by element, bits unchanged.
#pragma once
#include "src/device/kernel.h"
#include "src/tensor/iteration.h"

namespace descend {

struct CopyArgs {
  Iteration<2> points;  // to, from
  int64_t item;         // bytes of an element
};
inline constexpr Kernel<CopyArgs> kCopy{"copy"};

}  // namespace descend
