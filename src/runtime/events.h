// SPDX-License-Identifier: MIT
// Events: what each way of making one allows, and the operations.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/base/timeout.h"
#include "src/device/device.h"

namespace descend {

enum class EventKind {
  kPlain,    // aclrtCreateEvent
  kFlagged,  // aclrtCreateEventWithFlag
  kEx,       // aclrtCreateEventExWithFlag
};

struct EventObject {
  std::unique_ptr<Event> event;
  Device* device = nullptr;
  int32_t device_id = 0;
  EventKind kind = EventKind::kPlain;
  bool synchronizes = true;                  // streams may wait for it
  std::atomic<uint32_t> recorded_on{0};      // the stream's id
  std::atomic<uint64_t> recorded_behind{0};  // so many callbacks that were launched on any stream

  // A plain event that was never recorded is not ready; an Ex event then counts as complete.
  bool complete() const { return event->recorded() ? event->reached() : kind == EventKind::kEx; }
};

Status create_event(void** handle, EventKind kind, uint32_t flag);
Status destroy_event(void* handle);
Status record_event(void* handle, void* stream);
Status reset_event(void* handle, void* stream);
Status wait_for_event(void* stream, void* handle);
// Whether what it captured is done.  The old query does not take Ex events.
Status query_event(void* handle, bool old_query, bool* complete);
Status query_event_waits(void* handle, bool* complete);
Status synchronize_event(void* handle, Timeout timeout);
Status elapsed_time(float* milliseconds, void* start, void* end);

void set_op_wait_timeout(uint32_t seconds);
void set_op_execute_timeout(uint32_t seconds);

}  // namespace descend
