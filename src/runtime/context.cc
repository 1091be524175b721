// SPDX-License-Identifier: MIT
// The current context of a thread, and the stream a handle names: what every call begins with.
#include "src/runtime/context.h"

#include "src/runtime/contexts.h"
#include "src/runtime/devices.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

// The thread's own context while it lives; no reference is taken.  Relaxed: nothing that was written before its end is
// looked at after it.
Context* own_context(ThreadState& thread) {
  if (thread.context == nullptr) return nullptr;
  if (thread.context->alive.load(std::memory_order_relaxed)) return thread.context.get();
  thread.context.reset();
  return nullptr;
}

FoundStream look_up(void* handle, bool of_any_context, ThreadState& thread) {
  const uint64_t epoch = stream_epoch();  // before the search: a stream that dies during it is not remembered
  const std::shared_ptr<Context> context = current_context();
  std::shared_ptr<StreamObject> object;
  if (handle == nullptr) {
    if (context == nullptr) return {nullptr, no_context()};
    const std::lock_guard lock(process().mutex);
    object = context->default_stream;
    if (object == nullptr) return {nullptr, no_context()};  // it died just now
  } else {
    object = process().streams.find(handle);
    if (object == nullptr) return {nullptr, invalid_handle("stream", HandleKind::kStream, handle)};
    if (context != nullptr && object->context != context) {
      if (of_any_context) return {std::move(object), {}};
      return {nullptr, violation(Code::kStreamContext, "stream", "is of the thread's current context",
                                 cat("of another context, on device ", object->context->device_id),
                                 "call aclrtSetCurrentContext with the context the stream was made in")};
    }
  }
  thread.found_handle = handle;
  thread.found_context = thread.context.get();
  thread.found_epoch = epoch;
  thread.found = object;
  return {std::move(object), {}};
}

}  // namespace

std::shared_ptr<Context> current_context() {
  ThreadState& thread = thread_state();
  if (own_context(thread) != nullptr) return thread.context;
  const int32_t device = process().default_device.load(std::memory_order_acquire);
  return device < 0 ? nullptr : default_context(device);
}

Backend* planning_backend() {
  ThreadState& thread = thread_state();
  if (const Context* own = own_context(thread)) return own->device.backend;
  if (const auto context = current_context()) return context->device.backend;
  const VisibleDevices& devices = visible_devices();
  return devices.entries.empty() ? nullptr : devices.entries.front().backend;
}

FoundStream find_stream(void* handle, bool of_any_context) {
  ThreadState& thread = thread_state();
  if (handle == thread.found_handle && thread.found_epoch == the_stream_epoch.load(std::memory_order_relaxed) &&
      thread.found_context == thread.context.get()) {
    if (std::shared_ptr<StreamObject> object = thread.found.lock()) return {std::move(object), {}};
  }
  return look_up(handle, of_any_context, thread);
}

}  // namespace descend
