// SPDX-License-Identifier: MIT
// Calling a function of the program without letting its exceptions into ours.
#include "src/runtime/host_function.h"

#include <exception>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/thread_end.h"
#include "src/runtime/process.h"

namespace descend {

void call_host_function(void (*function)(void*), void* argument, uint32_t stream_id) {
  const InsideStream inside(stream_id);
  try {
    function(argument);
  } catch (const std::exception& e) {
    log(LogLevel::kError, cat("a callback of the program threw an exception: ", e.what()));
  } catch (...) {
    if (is_thread_ending()) throw;
    log(LogLevel::kError, "a callback of the program threw an exception");
  }
}

}  // namespace descend
