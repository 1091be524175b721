// SPDX-License-Identifier: MIT
// acl.h, acl_rt.h: the texts and codes of failures, and the callback for failures on a device.
#include "acl/acl.h"
#include "src/acl/guarded.h"
#include "src/runtime/failures.h"
#include "src/runtime/rules.h"

using namespace descend;

// What the public header leaves opaque.
struct aclrtExceptionInfo {
  FailureInfo info;
};

namespace {

constexpr uint32_t kNoInfo = 0xFFFFFFFF;

// The code kept for the thread, or 100000 for a level that is not the thread's.
aclError last_error(const char* function, aclrtLastErrLevel level, bool forget) {
  const int32_t code = last_runtime_code();
  const aclError checked =
      guarded(function, [&] { return is_between(level, ACL_RT_THREAD_LEVEL, ACL_RT_THREAD_LEVEL, "level"); });
  if (checked != ACL_SUCCESS) return checked;
  if (forget) clear_last_runtime_code();
  return code;
}

}  // namespace

extern "C" {

const char* aclGetRecentErrMsg() { return take_recent_error(); }

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) { return last_error(__func__, level, false); }

aclError aclrtGetLastError(aclrtLastErrLevel level) { return last_error(__func__, level, true); }

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return guarded(__func__, [&]() -> Status {
    if (callback == nullptr)
      listen_for_failures({});
    else
      listen_for_failures([callback](const FailureInfo& info) {
        aclrtExceptionInfo record{info};
        callback(&record);
      });
    return {};
  });
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNoInfo : info->info.task_id;
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNoInfo : info->info.stream_id;
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNoInfo : info->info.thread_id;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNoInfo : info->info.device_id;
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNoInfo : info->info.error_code;
}

}  // extern "C"
