// SPDX-License-Identifier: MIT
// acl_rt.h: functions of the host that run in the order of a stream.
#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/acl/timeout.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"
#include "src/runtime/streams.h"

using namespace descend;

extern "C" {

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return guarded(__func__, [&] {
    const FoundStream found = find_stream(stream);
    return found.status.ok() ? process().reports->subscribe(threadId, *found.object) : found.status;
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return guarded(__func__, [&] {
    const FoundStream found = find_stream(stream);
    return found.status.ok() ? process().reports->unsubscribe(threadId, *found.object) : found.status;
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return guarded(__func__, [&]() -> Status {
    if (Status s = is_timeout(timeout, Code::kInvalidParam); !s.ok()) return s;
    return process().reports->process(as_timeout(timeout));
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  return guarded(__func__, [&]() -> Status {
    if (Status s = not_null(reinterpret_cast<const void*>(fn), "fn"); !s.ok()) return s;
    if (Status s = is_between(blockType, ACL_CALLBACK_NO_BLOCK, ACL_CALLBACK_BLOCK, "blockType"); !s.ok()) return s;
    const FoundStream found = find_stream(stream);
    if (!found.status.ok()) return found.status;
    return process().reports->launch(fn, userData, blockType == ACL_CALLBACK_BLOCK, *found.object);
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func, void* args) {
  return guarded(__func__, [&] { return launch_host_function(stream, func, args); });
}

}  // extern "C"
