// SPDX-License-Identifier: MIT
// acl_rt.h: streams.
#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/acl/timeout.h"
#include "src/runtime/events.h"
#include "src/runtime/rules.h"
#include "src/runtime/streams.h"

using namespace descend;

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return guarded(__func__, [&] { return create_stream(stream); });
}

// All streams have one priority, and the bits choose between ways of queueing that are one here.
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t /*priority*/, uint32_t /*flag*/) {
  return guarded(__func__, [&] { return create_stream(stream); });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return guarded(__func__, [&] { return destroy_stream(stream, Ending::kWait); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return guarded(__func__, [&] { return destroy_stream(stream, Ending::kForce); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return guarded(__func__, [&] { return synchronize_stream(stream, {}); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return guarded(__func__, [&]() -> Status {
    if (Status s = is_timeout(timeout); !s.ok()) return s;
    return synchronize_stream(stream, as_timeout(timeout));
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return guarded(__func__, [&] {
    bool complete = false;
    Status s = not_null(status, "status");
    if (s.ok()) s = query_stream(stream, &complete);
    if (s.ok()) *status = complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return s;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return guarded(__func__, [&] { return wait_for_event(stream, event); });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return guarded(__func__, [&] { return set_failure_mode(stream, mode); });
}

}  // extern "C"
