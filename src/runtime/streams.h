// SPDX-License-Identifier: MIT
// Streams: making, waiting for, ending; functions of the host in stream order.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "src/runtime/context.h"

namespace descend {

// A stream of this context that has no handle yet; null when the device has none left, for the reason `why`.
std::shared_ptr<StreamObject> make_stream(const std::shared_ptr<Context>& context, Status& why);

Status create_stream(void** handle);
enum class Ending { kWait, kForce };
Status destroy_stream(void* handle, Ending ending);
Status synchronize_stream(void* handle, Timeout timeout);
Status query_stream(void* handle, bool* complete);
Status set_failure_mode(void* handle, uint64_t mode);
Status launch_host_function(void* handle, void (*function)(void*), void* argument);

// Waits until everything queued is done; what failed is a 507xxx with the text of what failed.
Status wait_until_idle(StreamObject& stream, Timeout timeout);

// Waits for one stream after the other and returns the first failure; logs the others.
Status wait_until_idle(const std::vector<std::shared_ptr<StreamObject>>& streams);

// The streams of a context, its default stream first.
std::vector<std::shared_ptr<StreamObject>> streams_of(const std::shared_ptr<Context>& context);

}  // namespace descend
