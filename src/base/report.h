// SPDX-License-Identifier: MIT
// Where a failing C function leaves its text: aclGetRecentErrMsg reads it, the log shows it.
#pragma once
#include "src/base/status.h"

namespace descend {

enum class Layer { kAcl, kAclnn };

// Keeps "<title>: <function>: <message>" for aclGetRecentErrMsg of this thread, logs it at level error and returns the
// code as the C function's result.  For Layer::kAcl the code also becomes the thread's last runtime error.  A status
// that is ok leaves everything as it was.
int32_t report(Layer layer, const char* function, const Status& status) noexcept;

// The pending text, newest failure first; null when there is none.  Reading clears it; the pointer is good until the
// thread's next call.
const char* take_recent_error() noexcept;

// One pending text for the process instead of one a thread (aclInit's err_msg_mode).
void share_recent_errors(bool process_wide) noexcept;

int32_t last_runtime_code() noexcept;
void clear_last_runtime_code() noexcept;

}  // namespace descend
