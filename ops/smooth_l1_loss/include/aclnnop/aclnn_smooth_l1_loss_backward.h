// SPDX-License-Identifier: MIT
/* aclnnSmoothL1LossBackward: the gradient of the smooth L1 loss at its first input. */
#ifndef DESCEND_ACLNNOP_ACLNN_SMOOTH_L1_LOSS_BACKWARD_H
#define DESCEND_ACLNNOP_ACLNN_SMOOTH_L1_LOSS_BACKWARD_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   With x = self - target, gradInput = gradOut * (|x| < beta ? x / beta : sign(x)), divided by the element count of the
   loss (of self and target broadcast together) when reduction is 1.  sign(0) is 0.
   gradOut, self, target: FLOAT, FLOAT16 or BF16 in any mix, shapes that broadcast together, any strides, up to 8
   dimensions.
   reduction: 0 none, 1 mean, 2 sum; what the loss was reduced by.
   beta: where the loss changes from square to straight; not negative.
   gradInput: FLOAT, FLOAT16 or BF16, the shape that the three inputs broadcast to.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSmoothL1LossBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclTensor* self, const aclTensor* target, int64_t reduction, float beta,
    aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSmoothL1LossBackward(void* workspace, uint64_t workspaceSize,
                                                          aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
