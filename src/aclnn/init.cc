// SPDX-License-Identifier: MIT
// aclnnInit and aclnnFinalize: a program needs neither.
#include "acl/acl_rt.h"
#include "aclnn/aclnn_base.h"
#include "src/aclnn/guard.h"
#include "src/runtime/config.h"
#include "src/runtime/options.h"

using namespace descend;

aclnnStatus aclnnInit(const char* configPath) {
  return guarded("aclnnInit", [&]() -> Status {
    // A file that is missing or cannot be understood is not an error here.
    const ReadConfig read = read_config(configPath ? configPath : "");
    const auto& on = read.config.debug_kernels;
    return on ? set_process_option(ACL_OPT_ENABLE_DEBUG_KERNEL, *on) : Status();
  });
}

aclnnStatus aclnnFinalize(void) { return 0; }
