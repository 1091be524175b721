// SPDX-License-Identifier: MIT
// Running a test on every SIMD target that this file's includer compiled and the processor has.
#pragma once
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <utility>

namespace descend {

// Calls body() once per target; what it dispatches runs on that target.
template <class Body> static void for_each_target(Body&& body) {
  auto& chosen = hwy::GetChosenTarget();
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    chosen.Update(target);
    body();
  }
  chosen.Update(hwy::SupportedTargets());
}

}  // namespace descend
