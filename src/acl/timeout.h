// SPDX-License-Identifier: MIT
// The timeouts of the C functions: -1 is for ever, else milliseconds.
#pragma once
#include <cstdint>

#include "src/base/timeout.h"

namespace descend {

inline Timeout as_timeout(int32_t milliseconds) {
  if (milliseconds < 0) return {};
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace descend
