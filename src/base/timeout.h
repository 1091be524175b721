// SPDX-License-Identifier: MIT
// How long a caller is prepared to wait.
#pragma once
#include <chrono>
#include <optional>

namespace descend {

// Empty means for ever.
using Timeout = std::optional<std::chrono::milliseconds>;

}  // namespace descend
