// SPDX-License-Identifier: MIT
// The engine's own kernel for devices whose memory the host cannot read: what the elements of a view are like.
#pragma once
#include "src/device/kernel.h"
#include "src/tensor/iteration.h"

namespace descend {

struct InspectArgs {
  Iteration<1> points;       // of a dtype in Inexacts, or of class numbers: INT64, INT32, UINT8
  int64_t classes, ignored;  // a class is in [0, classes)
};
// What there is among them: a 1 where such an element was seen.  Nothing is ever set to 0.
struct Inspected {
  uint8_t ran;         // the kernel did
  uint8_t not_finite;  // NaN or an infinity
  uint8_t has_class;   // a class that is not ignored
  uint8_t has_other;   // neither a class nor ignored
};
// data: the view's first element, and an Inspected in memory of Device::allocate_host.
inline constexpr Kernel<InspectArgs> kInspect{"inspect"};

}  // namespace descend
