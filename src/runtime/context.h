// SPDX-License-Identifier: MIT
// What the runtime's opaque handles stand for: contexts, streams and events, and the current context of a thread.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/base/timeout.h"
#include "src/device/backends.h"
#include "src/device/device.h"

namespace descend {

struct Context;

struct StreamObject {
  std::shared_ptr<Context> context;
  std::unique_ptr<Stream> stream;
  uint32_t id = 0;                // as the exception callback and callbacks' subscriptions name it
  void* handle = nullptr;         // null: the default stream of its context
  std::atomic<bool> alive{true};  // its handle is still known
  std::atomic<bool> failure_mode_chosen{false};
};

struct Context {
  int32_t device_id = 0;
  DeviceEntry device;
  bool is_default = false;  // made by aclrtSetDevice, shared by the threads that set this device
  std::atomic<bool> alive{true};
  void* handle = nullptr;

  // The rest is guarded by the process's mutex.
  std::shared_ptr<StreamObject> default_stream;
  std::array<std::optional<int64_t>, 3> options;
  bool stop_on_failure = false;
};

// The context of this thread: the one it set, else the configured default device's; null when there is none or it died.
std::shared_ptr<Context> current_context();

// The backend that phase one plans for: the current context's, else the first visible device's; null when there is no
// device.
Backend* planning_backend();

// The stream that a C function was given.  Null means the default stream of the current context (kNoContext without
// one); a handle that is not a live stream is kInvalidHandle; a stream of another context is kStreamContext unless
// `of_any_context`.  A thread without a context may name any stream.
struct FoundStream {
  std::shared_ptr<StreamObject> object;
  Status status;
};
FoundStream find_stream(void* handle, bool of_any_context = false);

// How long one operator may run (aclrtSetOpExecuteTimeOut); 0: for ever.  Every run asks for it.
inline constinit std::atomic<uint32_t> op_execute_seconds{0};

}  // namespace descend
