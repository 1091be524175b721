// SPDX-License-Identifier: MIT
/* aclnnUpsampleNearest3d: a volume at another size, each element taken from the nearest place of the old one. */
#ifndef DESCEND_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_3D_H
#define DESCEND_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_3D_H

#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the arguments and plans.
   On each of the axes D, H and W output index o is taken from input index min(floor(o * r), size of self - 1), where r
   is 1 / scale if all three scales are above 0, and otherwise the size of self divided by that of out, on every axis.
   The bits of the elements are kept.
   self: FLOAT, FLOAT16, BF16 or DOUBLE, 5 dimensions: (N, D, H, W, C) if its format is NDHWC, otherwise (N, C, D, H,
   W). N may be 0, the others may not.  Any strides. outputSize: out's D, H and W, above 0. scalesD, scalesH, scalesW:
   what the sizes are multiplied with; 0 for "as the sizes say". out: self's dtype, self's N and C, in the order of
   dimensions that self has. workspaceSize, executor: receive what phase two is given. Returns 0,
   ACLNN_ERR_PARAM_NULLPTR (161001) or ACLNN_ERR_PARAM_INVALID (161002); a failure writes nothing. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnUpsampleNearest3dGetWorkspaceSize(const aclTensor* self,
                                                                       const aclIntArray* outputSize, double scalesD,
                                                                       double scalesH, double scalesW, aclTensor* out,
                                                                       uint64_t* workspaceSize,
                                                                       aclOpExecutor** executor);

/* Phase two: queues the work on the stream and frees the executor.
   ACLNN_ERR_PARAM_NULLPTR for a null executor or a null workspace where one was asked for, ACLNN_ERR_PARAM_INVALID for
   an executor that was used already or a workspace that is too small. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnUpsampleNearest3d(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                       aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
