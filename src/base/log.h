// SPDX-License-Identifier: MIT
// The log: one line an event, on standard error or (ASCEND_SLOG_PRINT_TO_STDOUT=1) standard output.
#pragma once
#include <string_view>

namespace descend {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kNone = 4 };

// Whether a line of this level would be written; ask before building an expensive text.
bool log_enabled(LogLevel level) noexcept;

// Writes "[LEVEL] DESCEND(pid): text" as one write, whatever other threads do.
void log(LogLevel level, std::string_view text) noexcept;

}  // namespace descend
