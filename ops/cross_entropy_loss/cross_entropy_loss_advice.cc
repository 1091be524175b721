// SPDX-License-Identifier: MIT
// What the checker looks at in calls of the cross entropy: the targets, and parameters that the page does not support.
#include "ops/cross_entropy_loss/cross_entropy_loss.h"

namespace descend {
namespace {

template <class P> void advise_common(const P& p, const aclTensor& matrix, Advice& advice) {
  const bool mean = cross_entropy_reduction(p.reductionOptional) == CrossEntropyReduction::kMean;
  advice.classes.push_back({"target", matrix.shape[1], p.ignoreIndex, mean});
  if (mean && size_of(*p.target) == 0)
    advice.note(Advice::Remark::kMeanOfNothing, "target", cat(describe(*p.target), " has no element"));
  if (p.labelSmoothing != 0)
    advice.note(Advice::Remark::kNoSmoothing, "labelSmoothing", cat("it is ", p.labelSmoothing));
  if (p.lseSquareScaleForZloss != 0)
    advice.note(Advice::Remark::kNoZloss, "lseSquareScaleForZloss", cat("it is ", p.lseSquareScaleForZloss));
}

}  // namespace

void CrossEntropyLoss::advise(const Params& p, Advice& advice) {
  advise_common(p, *p.input, advice);
  if (p.returnZloss) advice.note(Advice::Remark::kNoZloss, "returnZloss", "it is true");
}

void CrossEntropyLossGrad::advise(const Params& p, Advice& advice) {
  advise_common(p, *p.logProb, advice);
  if (p.gradZlossOptional) advice.note(Advice::Remark::kNoZloss, "gradZlossOptional", "it is not null");
  if (p.lseForZlossOptional) advice.note(Advice::Remark::kNoZloss, "lseForZlossOptional", "it is not null");
}

}  // namespace descend
