// SPDX-License-Identifier: MIT
// Events: making, recording, waiting, timing.
#include "src/runtime/events.h"

#include <bit>

#include "src/runtime/failures.h"
#include "src/runtime/observed.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

// The numbers are those of ACL_EVENT_SYNC and its siblings.
constexpr uint32_t kSync = 1, kCaptureProgress = 2, kTimeLine = 8, kDeviceUseOnly = 16, kExternal = 32, kIpc = 64;
constexpr uint32_t kKnown = kSync | kCaptureProgress | kTimeLine | kDeviceUseOnly | kExternal | kIpc;

Status flag_is_allowed(uint32_t flag) {
  if (flag & ~kKnown) return violation(Code::kParamInvalid, "flag", "has no bits but those of ACL_EVENT_*", cat(flag));
  if ((flag & (kDeviceUseOnly | kExternal)) && std::popcount(flag) != 1)
    return violation(Code::kParamInvalid, "flag",
                     "has ACL_EVENT_EXTERNAL and ACL_EVENT_DEVICE_USE_ONLY without other bits", cat(flag));
  if (flag & kIpc) return {Code::kNotSupported, "events shared between processes (ACL_EVENT_IPC) are not supported"};
  return {};
}

struct FoundEvent {
  std::shared_ptr<EventObject> object;
  Status status;
};

FoundEvent find_event(void* handle, const char* parameter = "event") {
  if (Status s = not_null(handle, parameter); !s.ok()) return {nullptr, s};
  if (auto object = process().events.find(handle)) return {std::move(object), {}};
  return {nullptr, invalid_handle(parameter, HandleKind::kEvent, handle)};
}

Status not_ex(const EventObject& event) {
  if (event.kind != EventKind::kEx) return {};
  return violation(Code::kParamInvalid, "event", "is not from aclrtCreateEventExWithFlag", "one",
                   "use aclrtQueryEventStatus, or make the event with aclrtCreateEventWithFlag");
}

Status has_sync(const EventObject& event) {
  if (event.synchronizes) return {};
  return violation(Code::kParamInvalid, "event", "was made with ACL_EVENT_SYNC", "without it");
}

Status same_device(const EventObject& event, const StreamObject& stream) {
  if (event.device == stream.context->device.device) return {};
  return {Code::kNotSupported, cat("an event of device ", event.device_id, " cannot be used on a stream of device ",
                                   stream.context->device_id)};
}

Timeout seconds(uint32_t count) {
  if (count == 0) return {};
  return std::chrono::seconds(count);
}

}  // namespace

Status create_event(void** handle, EventKind kind, uint32_t flag) {
  if (Status s = not_null(handle, "event"); !s.ok()) return s;
  if (Status s = flag_is_allowed(flag); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  auto object = std::make_shared<EventObject>();
  object->event = context->device.device->make_event();
  if (object->event == nullptr) return {Code::kNoEventResource, "the device has no event left"};
  object->device = context->device.device;
  object->device_id = context->device_id;
  object->kind = kind;
  object->synchronizes = kind != EventKind::kFlagged || (flag & kSync);
  void* made = new_handle(HandleKind::kEvent);
  process().events.add(made, std::move(object));
  *handle = made;
  observe([&](Observer& o) { o.created(ObjectKind::kEvent, made); });
  return {};
}

Status destroy_event(void* handle) {
  if (Status s = not_null(handle, "event"); !s.ok()) return s;
  if (process().events.remove(handle) == nullptr) return invalid_handle("event", HandleKind::kEvent, handle);
  observe([&](Observer& o) { o.destroyed(ObjectKind::kEvent, handle); });
  return {};
}

Status record_event(void* handle, void* stream) {
  const FoundEvent event = find_event(handle);
  if (!event.status.ok()) return event.status;
  const FoundStream on = find_stream(stream);
  if (!on.status.ok()) return on.status;
  if (Status s = same_device(*event.object, *on.object); !s.ok()) return s;
  observe([&](Observer& o) { o.recorded(handle, info_of(*on.object)); });
  const uint64_t callbacks = process().reports->launched();
  Status status = on.object->stream->record(*event.object->event);
  if (status.ok()) event.object->recorded_behind = callbacks, event.object->recorded_on = on.object->id;
  return status;
}

Status reset_event(void* handle, void* stream) {
  const FoundEvent event = find_event(handle);
  if (!event.status.ok()) return event.status;
  if (event.object->kind != EventKind::kFlagged)
    return violation(Code::kParamInvalid, "event", "is from aclrtCreateEventWithFlag", "from another function",
                     "make the event with aclrtCreateEventWithFlag and ACL_EVENT_SYNC");
  if (Status s = has_sync(*event.object); !s.ok()) return s;
  const FoundStream on = find_stream(stream);
  if (!on.status.ok()) return on.status;
  if (Status s = same_device(*event.object, *on.object); !s.ok()) return s;
  observe([&](Observer& o) { o.reset(handle, info_of(*on.object)); });
  return on.object->stream->reset(*event.object->event);
}

Status wait_for_event(void* stream, void* handle) {
  const FoundEvent event = find_event(handle);
  if (!event.status.ok()) return event.status;
  if (Status s = has_sync(*event.object); !s.ok()) return s;
  const FoundStream on = find_stream(stream);
  if (!on.status.ok()) return on.status;
  if (Status s = same_device(*event.object, *on.object); !s.ok()) return s;
  observe([&](Observer& o) { o.waits(info_of(*on.object), handle); });
  return observed_work(on.object.get(), {.function = current_function()}, [&] {
    return on.object->stream->wait(*event.object->event, seconds(process().op_wait_seconds));
  });
}

Status query_event(void* handle, bool old_query, bool* complete) {
  const FoundEvent event = find_event(handle);
  if (!event.status.ok()) return event.status;
  if (old_query)
    if (Status s = not_ex(*event.object); !s.ok()) return s;
  *complete = event.object->complete();
  if (!*complete) return as_runtime_failure(event.object->event->failure());
  observe([&](Observer& o) { o.joined_event(handle); });
  return {};
}

Status query_event_waits(void* handle, bool* complete) {
  const FoundEvent event = find_event(handle);
  if (!event.status.ok()) return event.status;
  if (Status s = not_ex(*event.object); !s.ok()) return s;
  *complete = event.object->event->waits_done();
  if (*complete && event.object->event->reached()) observe([&](Observer& o) { o.joined_event(handle); });
  return {};
}

Status synchronize_event(void* handle, Timeout timeout) {
  const FoundEvent event = find_event(handle);
  if (!event.status.ok()) return event.status;
  if (const uint32_t stream = event.object->recorded_on; stream != 0 && !event.object->event->reached()) {
    // What is before a host function in its stream is done: an event that is not reached is behind it.
    if (thread_state().inside_call != nullptr)
      if (Status s = may_wait_for(stream); !s.ok()) return s;
    if (!timeout)
      if (Status s = process().reports->may_wait_for(stream, event.object->recorded_behind); !s.ok()) return s;
  }
  Status status = as_runtime_failure(event.object->event->synchronize(timeout));
  if (status.ok()) observe([&](Observer& o) { o.joined_event(handle); });
  return status;
}

Status elapsed_time(float* milliseconds, void* start, void* end) {
  if (Status s = not_null(milliseconds, "ms"); !s.ok()) return s;
  const FoundEvent first = find_event(start, "startEvent");
  if (!first.status.ok()) return first.status;
  const FoundEvent last = find_event(end, "endEvent");
  if (!last.status.ok()) return last.status;
  for (const auto& [event, parameter] : {std::pair{&first, "startEvent"}, std::pair{&last, "endEvent"}})
    if (!event->object->event->recorded())
      return violation(Code::kInternal, parameter, "was recorded", "not recorded", "call aclrtRecordEvent first");
  for (const auto& [event, parameter] : {std::pair{&first, "startEvent"}, std::pair{&last, "endEvent"}})
    if (!event->object->event->reached()) {
      if (Status s = event->object->event->failure(); !s.ok()) return as_runtime_failure(std::move(s));
      return violation(Code::kEventTimestampInvalid, parameter, "has been reached", "not reached yet",
                       "synchronise the event or its stream first");
    }
  observe([&](Observer& o) { o.joined_event(start), o.joined_event(end); });
  if (first.object->device != last.object->device)
    return violation(Code::kParamInvalid, "endEvent", "is of the device of startEvent",
                     cat("of device ", last.object->device_id, ", the other is of device ", first.object->device_id));
  const double elapsed = last.object->event->milliseconds_since(*first.object->event);
  if (elapsed < 0)
    return violation(Code::kEventTimestampReversal, "endEvent", "was reached after startEvent",
                     cat(-elapsed, " milliseconds earlier"));
  *milliseconds = static_cast<float>(elapsed);
  return {};
}

void set_op_wait_timeout(uint32_t seconds) { process().op_wait_seconds = seconds; }
void set_op_execute_timeout(uint32_t seconds) { op_execute_seconds = seconds; }

}  // namespace descend
