// SPDX-License-Identifier: MIT
// Three functions outside every header that some clients look up and call around operators.  Memory here needs no such
// preparation.
#include "acl/acl_base.h"

extern "C" {

ACL_FUNC_VISIBILITY int InitHugeMemThreadLocal(void*, bool) { return 0; }
ACL_FUNC_VISIBILITY void UnInitHugeMemThreadLocal(void*, bool) {}
ACL_FUNC_VISIBILITY void ReleaseHugeMem(void*, bool) {}

}  // extern "C"
