// SPDX-License-Identifier: MIT
/* aclnnNLLLossBackward: the gradient of the negative log likelihood loss of rows of classes. */
#ifndef DESCEND_ACLNNOP_ACLNN_NLL_LOSS_BACKWARD_H
#define DESCEND_ACLNNOP_ACLNN_NLL_LOSS_BACKWARD_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   out is 0 but for out[n, t] = -(g * weight[t]) with t = target[n], where g is gradOutput, divided
   by totalWeight when reduction is 1.  A position whose t is ignoreIndex or no class is 0 throughout.
   gradOutput: FLOAT, FLOAT16 or BF16; target's shape for none, else one element in at most one dimension.
   self: (N, C), or (C) for a single position; gradOutput's dtype.  Its values are not read.
   target: a class a position (N), or rank 0 for a self of rank 1; INT64, INT32 or UINT8.
   weight: C elements in one dimension, self's dtype.
   reduction: 0 none, 1 mean, 2 sum; what the loss was reduced by.
   totalWeight: one element, self's dtype: what the loss gave out as totalWeightOut.  Read when reduction is 1.
   out: self's shape, a dtype that self's converts to; every element is written.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnNLLLossBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                                     const aclTensor* target, const aclTensor* weight,
                                                                     int64_t reduction, int64_t ignoreIndex,
                                                                     const aclTensor* totalWeight, aclTensor* out,
                                                                     uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnNLLLossBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                     aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
