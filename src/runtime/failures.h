// SPDX-License-Identifier: MIT
// Who is told when work on a stream fails.
#pragma once
#include <cstdint>
#include <functional>

#include "src/base/status.h"

namespace descend {

// What the record of a failure says.
struct FailureInfo {
  uint32_t task_id = 0;  // the how-manyeth failure of the process
  uint32_t stream_id = 0;
  uint32_t thread_id = 0;  // of the thread that ran the work
  uint32_t device_id = 0;
  uint32_t error_code = 0;
};

// Whatever code the failing work had, who waits for it is returned one of the runtime's.
Status as_runtime_failure(Status status);

// One listener for the process; an empty one removes it.  A call that is under way ends with the old one.
void listen_for_failures(std::function<void(const FailureInfo&)> listener);

// Tells the listener.
// Lets nothing out but the end of the thread, which the listener may bring about.
void tell_of_failure(int32_t device_id, uint32_t stream_id, const Status& status);

}  // namespace descend
