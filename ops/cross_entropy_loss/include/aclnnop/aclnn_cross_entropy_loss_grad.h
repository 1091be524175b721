// SPDX-License-Identifier: MIT
/* aclnnCrossEntropyLossGrad: the gradient of the cross entropy with respect to what the classes were scored with. */
#ifndef DESCEND_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_GRAD_H
#define DESCEND_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_GRAD_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   A row i counts if target[i] is a class, from 0 to C - 1, and not ignoreIndex; then w is weight[target[i]] or 1, and
   W is 1, or for "mean" the sum of w over the rows that count.  With a = g * (1 - labelSmoothing) * w / W and
   s = g * labelSmoothing / C / W the gradient is
     out[i, j] = exp(logProb[i, j]) * (a + s * sum of weight) - (j == target[i] ? a : 0) - s * weight[j].
   A row that does not count is 0 and is not read.  With "mean" and W = 0 every element is NaN.
   gradLoss: FLOAT, FLOAT16 or BF16; (N) for "none", else rank 0 or [1].
   logProb: gradLoss's dtype, (N, C), C above 0: logarithms of the classes' probabilities.
   target: INT64, or INT32 on Ascend950; (N).
   weightOptional: null for ones, or FLOAT (C).
   gradZlossOptional, lseForZlossOptional: null, or gradLoss's dtype.  Without effect, as lseSquareScaleForZloss is,
   unless DESCEND_EXTENSIONS names zloss; then as gradLoss is, and (N).
   reductionOptional: "none", "mean" or "sum"; null means "mean".
   ignoreIndex: any number.   labelSmoothing: from 0 to 1.
   out: gradLoss's dtype, (N, C).
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001), ACLNN_ERR_PARAM_INVALID (161002) for a dtype or a view that cannot be,
   ACLNN_ERR_INNER_TILING_ERROR (561002) for a shape, a reduction or a smoothing that cannot be; a failure writes
   nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnCrossEntropyLossGradGetWorkspaceSize(
    const aclTensor* gradLoss, const aclTensor* logProb, const aclTensor* target, const aclTensor* weightOptional,
    const aclTensor* gradZlossOptional, const aclTensor* lseForZlossOptional, char* reductionOptional,
    int64_t ignoreIndex, double labelSmoothing, double lseSquareScaleForZloss, const aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnCrossEntropyLossGrad(void* workspace, uint64_t workspaceSize,
                                                          aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
