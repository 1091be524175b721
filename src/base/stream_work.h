// SPDX-License-Identifier: MIT
// Running work on a stream: what it throws is the failure of the stream.
#pragma once
#include "src/base/status.h"
#include "src/base/thread_end.h"

namespace descend {

// Of the exception that is being handled; also when there is no memory left.
Status failure_of_exception() noexcept;

// No exception leaves the work: there is nobody above it to catch one.  But the end of the thread does.
template <class Work> Status guarded(const Work& work) {
  try {
    return work();
  } catch (...) {
    if (is_thread_ending()) throw;
    return failure_of_exception();
  }
}

}  // namespace descend
