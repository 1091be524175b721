// SPDX-License-Identifier: MIT
/* The one header a program includes: start and end of the runtime, and everything else of acl. */
#ifndef DESCEND_ACL_ACL_H
#define DESCEND_ACL_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 15
#define ACL_PATCH_VERSION 0

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the runtime.  The path names a JSON file; null, an empty path and a file with {} mean the defaults.
   ACL_ERROR_REPEAT_INITIALIZE when it runs already (one more reference then), ACL_ERROR_INVALID_FILE when the file
   cannot be read, ACL_ERROR_PARSE_FILE when it is not JSON. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/* Ends it, whatever the number of references.  ACL_ERROR_REPEAT_FINALIZE when it does not run. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/* Gives one reference back and ends the runtime with the last; refCount, if not null, receives how many are left.
   ACL_ERROR_REPEAT_FINALIZE when there were none. */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

/* The text of this thread's failures since the last call, newest first; null when there was none.  It is good until the
   thread's next call. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif
