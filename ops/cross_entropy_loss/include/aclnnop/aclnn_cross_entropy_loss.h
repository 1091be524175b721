// SPDX-License-Identifier: MIT
/* aclnnCrossEntropyLoss: how far the probabilities of classes are from labels. */
#ifndef DESCEND_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_H
#define DESCEND_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
     logProb[i, j] = input[i, j] - log of the sum over k of exp(input[i, k])
     loss[i] = -(1 - labelSmoothing) * w * logProb[i, target[i]] - labelSmoothing / C * sum over j of
               weight[j] * logProb[i, j]
   with w = weight[target[i]] or 1.  A row whose target is ignoreIndex or no class, from 0 to C - 1, has the loss 0.
   input: FLOAT, FLOAT16 or BF16, (N, C), C above 0.
   target: INT64, or INT32 on Ascend950; (N).
   weightOptional: null for ones, or FLOAT (C).
   reductionOptional: "none", "mean" (the sum divided by the sum of w over the rows that count) or "sum"; null means
   "mean".  Of no rows the mean is NaN and the sum 0.
   ignoreIndex: any number.   labelSmoothing: from 0 to 1.
   lossOut: input's dtype; (N) for "none", else one element.
   logProbOut: input's dtype and shape; may be input itself.
   zlossOut, lseForZlossOut: not null, input's dtype; not written, and lseSquareScaleForZloss and returnZloss are
   without effect, unless DESCEND_EXTENSIONS names zloss.  Then lseSquareScaleForZloss times the square of the logarithm
   of the row's sum of exponentials is added to the row's loss, and with returnZloss that part of lossOut is written to
   zlossOut, which has lossOut's shape, and the logarithm to lseForZlossOut, (N).
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001), ACLNN_ERR_PARAM_INVALID (161002) for a dtype or a view that cannot be,
   ACLNN_ERR_INNER_TILING_ERROR (561002) for a shape, a reduction or a smoothing that cannot be; a failure writes
   nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnCrossEntropyLossGetWorkspaceSize(
    const aclTensor* input, const aclTensor* target, const aclTensor* weightOptional, char* reductionOptional,
    int64_t ignoreIndex, double labelSmoothing, double lseSquareScaleForZloss, bool returnZloss,
    const aclTensor* lossOut, const aclTensor* logProbOut, const aclTensor* zlossOut, const aclTensor* lseForZlossOut,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnCrossEntropyLoss(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                      aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
