// SPDX-License-Identifier: MIT
// Calls that a test takes for granted.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "acl/acl.h"

namespace descend::test {

// The text of the last failure in this thread.
inline std::string recent_error() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

// Throws when the call failed: the test has failed then, and says where and why.
inline void must(int32_t code, const char* call) {
  if (code != 0)
    throw std::runtime_error(std::string(call) + " answers " + std::to_string(code) + " " + recent_error());
}

}  // namespace descend::test
