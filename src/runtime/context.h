// SPDX-License-Identifier: MIT
// What the runtime's opaque handles stand for: contexts, streams and events, and the current context of a thread.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/device/backends.h"
#include "src/device/device.h"

namespace descend {

struct Context;

struct StreamObject {
  std::shared_ptr<Context> context;
  std::unique_ptr<Stream> stream;
};

struct Context {
  int32_t device_id = 0;
  DeviceEntry device;
  bool is_default = false;  // made by aclrtSetDevice, shared by the threads that set this device
  std::atomic<bool> alive{true};
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

}  // namespace descend
