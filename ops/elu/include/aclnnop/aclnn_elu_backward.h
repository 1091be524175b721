// SPDX-License-Identifier: MIT
/* aclnnEluBackward: the gradient of ELU at its input, from ELU's input or from its result. */
#ifndef DESCEND_ACLNNOP_ACLNN_ELU_BACKWARD_H
#define DESCEND_ACLNNOP_ACLNN_ELU_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   With v = selfOrResult, gradInput = gradOutput * scale where v > 0; elsewhere it is
   gradOutput * inputScale * (v + alpha * scale) if v is ELU's result (isResult), and
   gradOutput * inputScale * alpha * scale * exp(v * inputScale) if v is ELU's input.
   gradOutput, selfOrResult: one dtype of FLOAT, FLOAT16 and BF16, one shape, any strides, up to 8 dimensions.
   alpha, scale, inputScale: numbers that convert to FLOAT; alpha is not negative when isResult is true.
   gradInput: the same shape and a dtype that gradOutput's converts to.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnEluBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclScalar* alpha,
                                                                 const aclScalar* scale, const aclScalar* inputScale,
                                                                 bool isResult, const aclTensor* selfOrResult,
                                                                 aclTensor* gradInput, uint64_t* workspaceSize,
                                                                 aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnEluBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
