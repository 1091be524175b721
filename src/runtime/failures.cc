// SPDX-License-Identifier: MIT
// Telling the process's listener of failed work.
#include "src/runtime/failures.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <mutex>

#include "src/base/leaf_mutex.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/thread_end.h"
#include "src/runtime/process.h"

namespace descend {
namespace {

using Listener = std::function<void(const FailureInfo&)>;

struct Listeners {
  LeafMutex mutex;
  std::shared_ptr<const Listener> current;
};
Listeners& listeners() {
  static Listeners& all = *new Listeners;
  return all;
}

std::atomic<uint32_t> last_task{0};

}  // namespace

Status as_runtime_failure(Status status) {
  const int code = static_cast<int>(status.code());
  if (status.ok() || (code >= 507000 && code < 508000)) return status;
  return {Code::kKernelFailed, cat(status.message(), " (", code, ")"), status.solution()};
}

void listen_for_failures(Listener listener) {
  auto next = listener ? std::make_shared<const Listener>(std::move(listener)) : nullptr;
  const std::lock_guard lock(listeners().mutex);
  listeners().current = std::move(next);
}

void tell_of_failure(int32_t device_id, uint32_t stream_id, const Status& status) try {
  std::shared_ptr<const Listener> listener;
  {
    const std::lock_guard lock(listeners().mutex);
    listener = listeners().current;
  }
  if (listener == nullptr) return;
  const InsideStream inside(stream_id);
  (*listener)({.task_id = ++last_task,
               .stream_id = stream_id,
               .thread_id = static_cast<uint32_t>(syscall(SYS_gettid)),
               .device_id = static_cast<uint32_t>(device_id),
               .error_code = static_cast<uint32_t>(status.code())});
} catch (...) {
  if (is_thread_ending()) throw;
  log(LogLevel::kError, "the exception callback threw an exception");
}

}  // namespace descend
