// SPDX-License-Identifier: MIT
// acl_rt.h: events.
#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/acl/timeout.h"
#include "src/runtime/events.h"
#include "src/runtime/rules.h"

using namespace descend;

extern "C" {

aclError aclrtCreateEvent(aclrtEvent* event) {
  return guarded(__func__, [&] { return create_event(event, EventKind::kPlain, 0); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded(__func__, [&] { return create_event(event, EventKind::kFlagged, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded(__func__, [&] { return create_event(event, EventKind::kEx, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return guarded(__func__, [&] { return destroy_event(event); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return guarded(__func__, [&] { return record_event(event, stream); });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return guarded(__func__, [&] {
    bool complete = false;
    Status s = not_null(status, "status");
    if (s.ok()) s = query_event(event, true, &complete);
    if (s.ok()) *status = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return s;
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return guarded(__func__, [&] {
    bool complete = false;
    Status s = not_null(status, "status");
    if (s.ok()) s = query_event(event, false, &complete);
    if (s.ok()) *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return s;
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return guarded(__func__, [&] {
    bool complete = false;
    Status s = not_null(status, "status");
    if (s.ok()) s = query_event_waits(event, &complete);
    if (s.ok()) *status = complete ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return s;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return guarded(__func__, [&] { return synchronize_event(event, {}); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return guarded(__func__, [&]() -> Status {
    if (Status s = is_timeout(timeout); !s.ok()) return s;
    return synchronize_event(event, as_timeout(timeout));
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return guarded(__func__, [&] { return elapsed_time(ms, startEvent, endEvent); });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return guarded(__func__, [&] { return reset_event(event, stream); });
}

}  // extern "C"
