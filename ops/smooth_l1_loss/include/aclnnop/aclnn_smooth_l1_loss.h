// SPDX-License-Identifier: MIT
/* aclnnSmoothL1Loss: a square near the target, a straight line far from it. */
#ifndef DESCEND_ACLNNOP_ACLNN_SMOOTH_L1_LOSS_H
#define DESCEND_ACLNNOP_ACLNN_SMOOTH_L1_LOSS_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   With x = self - target, an element's loss is |x| < beta ? 0.5 * x * x / beta : |x| - 0.5 * beta.
   self, target: FLOAT, FLOAT16 or BF16 in any mix, shapes that broadcast together, any strides, up to 8 dimensions.
   reduction: 0 every element's loss, 1 their mean, 2 their sum.  Of no elements the mean is NaN and the sum 0.
   beta: where the loss changes from square to straight; not negative.
   result: a dtype that the promotion of self's and target's converts to; the shape they broadcast to for reduction 0,
   otherwise one element of any rank.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSmoothL1LossGetWorkspaceSize(const aclTensor* self, const aclTensor* target,
                                                                  int64_t reduction, float beta, aclTensor* result,
                                                                  uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSmoothL1Loss(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                  aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
