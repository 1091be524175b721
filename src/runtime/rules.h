// SPDX-License-Identifier: MIT
// The texts of broken rules, so that all of them name parameter, rule and value in the same form.
#pragma once
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/base/text.h"

namespace descend {

inline Status violation(Code code, std::string_view parameter, std::string_view rule, std::string_view value,
                        std::string solution = {}) {
  return {code, cat(parameter, " must satisfy: ", rule, "; it is ", value), std::move(solution)};
}

inline Status not_null(const void* pointer, std::string_view parameter) {
  return pointer != nullptr ? Status() : violation(Code::kInvalidParam, parameter, "is not null", "null");
}

// For an enum of the C API: a number that names none of its values is 100000.
inline Status is_between(int64_t value, int64_t lowest, int64_t highest, std::string_view parameter,
                         Code code = Code::kInvalidParam) {
  if (value >= lowest && value <= highest) return {};
  return violation(code, parameter, cat("is ", lowest, " to ", highest), cat(value));
}

inline Status no_context() {
  return {Code::kNoContext, "the current context must satisfy: is set in this thread; it is not set",
          "call aclrtSetDevice or aclrtSetCurrentContext in this thread first"};
}

// -1 waits for ever; milliseconds otherwise.
inline Status is_timeout(int32_t timeout, Code code = Code::kParamInvalid) {
  if (timeout == -1 || timeout > 0) return {};
  return violation(code, "timeout", "is -1 (for ever) or more than 0 milliseconds", cat(timeout));
}

}  // namespace descend
