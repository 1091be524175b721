// SPDX-License-Identifier: MIT
// What the checker looks at in calls of the smooth L1 loss: a mean of nothing.
#include "ops/smooth_l1_loss/smooth_l1_loss.h"

namespace descend {

void SmoothL1Loss::advise(const Params& p, Advice& advice) {
  if (p.reduction == kSmoothL1Mean && (size_of(*p.self) == 0 || size_of(*p.target) == 0))
    advice.note(Advice::Remark::kMeanOfNothing, "self",
                cat("self is ", describe(*p.self), ", target is ", describe(*p.target)));
}

}  // namespace descend
