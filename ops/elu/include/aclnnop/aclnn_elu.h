// SPDX-License-Identifier: MIT
/* aclnnElu and aclnnInplaceElu: out = scale * (x > 0 ? x : alpha * (exp(inputScale * x) - 1)). */
#ifndef DESCEND_ACLNNOP_ACLNN_ELU_H
#define DESCEND_ACLNNOP_ACLNN_ELU_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one of ELU: checks the arguments and plans.
   self: FLOAT, FLOAT16, BF16 or DOUBLE, any strides, up to 8 dimensions.
   alpha, scale, inputScale: numbers that convert to FLOAT.
   out: the shape of self and a dtype that self's converts to.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnEluGetWorkspaceSize(const aclTensor* self, const aclScalar* alpha,
                                                         const aclScalar* scale, const aclScalar* inputScale,
                                                         aclTensor* out, uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);

/* Phase two of ELU: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnElu(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                         aclrtStream stream);

/* Phase one of ELU written over its input: as above, with selfRef for both self and out. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInplaceEluGetWorkspaceSize(aclTensor* selfRef, const aclScalar* alpha,
                                                                const aclScalar* scale, const aclScalar* inputScale,
                                                                uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two of ELU written over its input. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInplaceElu(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
