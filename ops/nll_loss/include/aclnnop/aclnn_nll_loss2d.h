// SPDX-License-Identifier: MIT
/* aclnnNLLLoss2d: the negative log likelihood loss of planes of classes. */
#ifndef DESCEND_ACLNNOP_ACLNN_NLL_LOSS2D_H
#define DESCEND_ACLNNOP_ACLNN_NLL_LOSS2D_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   The loss of a position is -weight[t] * self[n, t, h, w], t = target[n, h, w]; 0 where t is ignoreIndex or no class.
   self: log-probabilities (N, C, H, W); FLOAT, FLOAT16 or BF16, any strides.
   target: a class a position (N, H, W); INT64, INT32 or UINT8.
   weight: C elements, self's dtype.
   reduction: 0 none, 1 mean (the sum of the losses divided by the sum of their weights), 2 sum.
   out: target's shape for none, else one element; a dtype that self's converts to.
   totalWeightOut: one element, a dtype that self's converts to; receives the sum of the weights for mean and sum and is
   left alone for none.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnNLLLoss2dGetWorkspaceSize(const aclTensor* self, const aclTensor* target,
                                                               const aclTensor* weight, int64_t reduction,
                                                               int64_t ignoreIndex, aclTensor* out,
                                                               aclTensor* totalWeightOut, uint64_t* workspaceSize,
                                                               aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnNLLLoss2d(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
