// SPDX-License-Identifier: MIT
/* aclnnUpsampleNearest3dBackward: the gradient of aclnnUpsampleNearest3d at its input. */
#ifndef DESCEND_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_3D_BACKWARD_H
#define DESCEND_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_3D_BACKWARD_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   On each of the axes D, H and W index i of gradInput owns the indices [min(ceil(i * s), O), min(ceil((i + 1) * s), O))
   of gradOut, where O is gradOut's size there and s is the scale if all three scales are above 0, and otherwise the
   size of gradOut divided by that of gradInput, on every axis.  An element of gradInput is the sum of what it owns.
   gradOut: FLOAT, FLOAT16, BF16 or DOUBLE, 5 dimensions.  Any strides.
   outputSize: gradOut's D, H and W, above 0.
   inputSize: gradInput's N, C, D, H and W, or its N, D, H, W and C where a tensor's format is NDHWC.
   scalesD, scalesH, scalesW: what the upsampling multiplied the sizes with; 0 for "as the sizes say".
   gradInput: gradOut's dtype, N and C; D, H and W are above 0.  Any strides.
   Either tensor is (N, D, H, W, C) if its format is NDHWC, otherwise (N, C, D, H, W); N and C may be 0.
   workspaceSize, executor: receive what phase two is given.
   Returns 0, ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnUpsampleNearest3dBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclIntArray* outputSize, const aclIntArray* inputSize, double scalesD,
    double scalesH, double scalesW, aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnUpsampleNearest3dBackward(void* workspace, uint64_t workspaceSize,
                                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
