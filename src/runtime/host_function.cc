// SPDX-License-Identifier: MIT
// Calling a function of the program without letting its exceptions into ours.
#include "src/runtime/host_function.h"

#include <exception>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/thread_end.h"
#include "src/observe/observer.h"
#include "src/runtime/process.h"

namespace descend {

HostCall::HostCall(Function function, void* argument, uint32_t stream_id, bool blocks)
    : function_(function), argument_(argument), stream_id_(stream_id), blocks_(blocks) {
  observe([&](Observer& o) { o.host_function(stream_id_, this, HostFunction::kQueued); });
}

HostCall::~HostCall() {
  observe([&](Observer& o) { o.host_function(stream_id_, this, HostFunction::kOver); });
}

void HostCall::run() const {
  observe([&](Observer& o) { o.host_function(stream_id_, this, HostFunction::kBegins); });
  const InsideStream inside(blocks_ ? stream_id_ : 0, blocks_ ? this : nullptr);
  try {
    function_(argument_);
  } catch (const std::exception& e) {
    log(LogLevel::kError, cat("a callback of the program threw an exception: ", e.what()));
  } catch (...) {
    if (is_thread_ending()) throw;
    log(LogLevel::kError, "a callback of the program threw an exception");
  }
}

}  // namespace descend
