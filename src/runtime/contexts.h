// SPDX-License-Identifier: MIT
// Contexts: making, choosing and ending them.
#pragma once
#include <cstdint>
#include <memory>

#include "src/runtime/context.h"

namespace descend {

// A context on the device, with its default stream, known by its handle.
struct MadeContext {
  std::shared_ptr<Context> context;
  Status status;
};
MadeContext make_context(int32_t device_id, bool is_default);

// 107001 for a number that is no visible device.
Status is_device(int32_t device_id, const char* parameter);

Status create_context(void** handle, int32_t device_id);
Status destroy_context(void* handle);
Status set_current_context(void* handle);
Status get_current_context(void** handle);

// Waits for the work of a context, then ends it: its handle and its streams' are dead afterwards.  With
// `drop_callbacks`, callbacks that wait for a thread of the program are not waited for.
void end_context(const std::shared_ptr<Context>& context, bool drop_callbacks);

}  // namespace descend
