// SPDX-License-Identifier: MIT
// Starting the thread of a stream, which runs functions of the program.
#pragma once
#include <cstddef>
#include <memory>

#include "src/base/status.h"

namespace descend {

constexpr size_t kLeastStack = size_t{2} << 20;  // of such a thread, where the program's limit is smaller

// Calls run(queue) on a new thread, for which nobody waits.  It hears no signals but those of faults.  On failure
// there is none, and nothing is thrown.
Status start_stream_thread(std::shared_ptr<void> queue, void (*run)(std::shared_ptr<void> queue));

}  // namespace descend
