// SPDX-License-Identifier: MIT
// What the functions answer that are declared only so that programs link.
#pragma once
#include <cstdint>

namespace descend {

inline constexpr const char* kSingleOperator =
    "single operators (aclop) are not part of this implementation; use the operator's aclnn functions";
inline constexpr const char* kModel = "offline models (aclmdl) are not part of this implementation";

// Leaves "<function>: <what>" for aclGetRecentErrMsg and returns ACL_ERROR_API_NOT_SUPPORT.
int32_t unsupported(const char* function, const char* what) noexcept;

}  // namespace descend
