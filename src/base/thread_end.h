// SPDX-License-Identifier: MIT
// Telling the end of a thread from an exception.
#pragma once
#include <exception>

namespace descend {

// In a catch (...) block: whether what was caught is pthread_exit or pthread_cancel unwinding the thread, which must be
// thrown on: swallowing it aborts the process.  It is no C++ exception, so there is none to point at.
inline bool is_thread_ending() noexcept { return !std::current_exception(); }

}  // namespace descend
