// SPDX-License-Identifier: MIT
// What the checker looks at in calls of the negative log likelihood losses: the targets.
#include "ops/nll_loss/nll_loss.h"

namespace descend {
namespace {

template <class P> void advise_targets(const P& p, bool mean, Advice& advice) {
  advice.classes.push_back({"target", class_count(*p.self), p.ignoreIndex, mean});
  if (mean && size_of(*p.target) == 0)
    advice.note(Advice::Remark::kMeanOfNothing, "target", cat(describe(*p.target), " has no element"));
}

}  // namespace

void NLLLoss::advise(const Params& p, Advice& advice) { advise_targets(p, p.reduction == kNLLMean, advice); }
void NLLLoss2d::advise(const Params& p, Advice& advice) { advise_targets(p, p.reduction == kNLLMean, advice); }
// The gradient of a mean of nothing is 0.
void NLLLossBackward::advise(const Params& p, Advice& advice) {
  advise_targets(p, false, advice);
  advice.classes.back().result = "out";
}
void NLLLoss2dBackward::advise(const Params& p, Advice& advice) { advise_targets(p, false, advice); }

}  // namespace descend
