// SPDX-License-Identifier: MIT
// Begins the trace when the library is loaded and ends it when the process does.
#include <pthread.h>

#include <cstdlib>

#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/trace/trace.h"

namespace descend {
namespace {

Trace* the_trace = nullptr;

bool start() {
  if (std::getenv("DESCEND_TRACE") == nullptr || environment().trace.empty()) return false;
  std::FILE* const file = std::fopen(environment().trace.c_str(), "we");
  if (file == nullptr) {
    log(LogLevel::kError, cat("DESCEND_TRACE: ", environment().trace, " cannot be written"));
    return false;
  }
  the_trace = new Trace(file, environment().trace_json);
  add_observer(the_trace);
  pthread_atfork(nullptr, nullptr, [] { the_trace->leave_to_parent(); });
  std::atexit([] { the_trace->end(); });
  return true;
}

[[maybe_unused]] const bool started = start();

}  // namespace
}  // namespace descend
