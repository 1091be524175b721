// SPDX-License-Identifier: MIT
// acl_rt.h: options of the process and of a context, and time limits.
#include "src/runtime/options.h"

#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/runtime/events.h"

using namespace descend;

extern "C" {

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return guarded(__func__, [&] { return set_context_option(opt, value); });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return guarded(__func__, [&] { return get_context_option(opt, value); });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return guarded(__func__, [&] { return set_process_option(opt, value); });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return guarded(__func__, [&] { return get_process_option(opt, value); });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return guarded(__func__, [&] {
    set_op_wait_timeout(timeout);
    return Status();
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return guarded(__func__, [&] {
    set_op_execute_timeout(timeout);
    return Status();
  });
}

}  // extern "C"
