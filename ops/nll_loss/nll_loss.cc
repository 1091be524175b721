// SPDX-License-Identifier: MIT
// aclnnNLLLoss and aclnnNLLLoss2d: the contracts, the plan and the entry points.
#include "ops/nll_loss/nll_loss.h"

#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "ops/nll_loss/nll_loss_plan.h"
#include "ops/nll_loss/nll_loss_rules.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed[] = {add_to_catalog<NLLLoss>(), add_to_catalog<NLLLoss2d>()};

using P = NLLLossParams;

// The rows that differ, and those that do not.
template <class Self, class Target, class Weight>
const Spec<P>* make_spec(const char* function, const char* summary, Self self, Target target, Weight weight) {
  return new Spec<P>(
      function, summary, nll_products(), std::move(self), std::move(target), std::move(weight),
      attribute("reduction", &P::reduction, "how the positions' losses become the result", nll_reduction()),
      attribute("ignoreIndex", &P::ignoreIndex, "positions whose target is this number count for nothing"),
      output("out", &P::out, "the loss", rank(0, 8), holds_cast_of(&P::self), nll_loss_shape<P>()),
      output("totalWeightOut", &P::totalWeightOut, "what the mean divides by; not written when reduction is 0",
             rank(0, 8), holds_cast_of(&P::self), one_element()));
}

void plan_forward(const P& p, Planner& planner) {
  const aclTensor self = at_first_class(*p.self);
  // A position reads one of its classes and one weight.
  for (const aclTensor* picked : {p.self, p.weight}) planner.reads_only(picked, size_of(*p.target));
  if (p.reduction == kNLLNone) {
    if (size_of(*p.out) == 0) return;
    planner.launch(kNLLLoss,
                   {.points = iterate<3>({p.out, p.target, &self}),
                    .classes = nll_classes(p),
                    .class_stride = class_stride(*p.self)},
                   std::array{p.out, p.target, p.self, p.weight});
    return;
  }
  planner.launch(kNLLLossTotal,
                 {.points = iterate_in_order<2>(p.target->shape, {p.target, &self}),
                  .classes = nll_classes(p),
                  .class_stride = class_stride(*p.self),
                  .out = p.out->dtype,
                  .totalWeight = p.totalWeightOut->dtype,
                  .mean = p.reduction == kNLLMean},
                 std::array{p.target, p.self, p.weight, p.out, p.totalWeightOut});
}

constexpr const char* kSelfMeaning = "log-probabilities of the classes";
constexpr const char* kTargetMeaning = "the class of each position";
constexpr const char* kWeightMeaning = "how much each class counts";

}  // namespace

const Spec<P>& NLLLoss::spec() {
  static const Spec<P>& spec = *make_spec(
      "aclnnNLLLoss", "The negative log likelihood loss of rows of classes.",
      input("self", &P::self, kSelfMeaning, rank(1, 2), nll_dtype(), nll_without_bf16(), nll_has_classes<P>())
          .read_first(),
      input("target", &P::target, kTargetMeaning, rank(0, 1), nll_target_dtype(), nll_one_target_a_position<P>())
          .read_first(),
      input("weight", &P::weight, kWeightMeaning, rank(1, 1), same_dtype(&P::self), nll_one_weight_a_class<P>())
          .read_first());
  return spec;
}

const Spec<P>& NLLLoss2d::spec() {
  static const Spec<P>& spec = *make_spec(
      "aclnnNLLLoss2d", "The negative log likelihood loss of planes of classes.",
      input("self", &P::self, kSelfMeaning, rank(4, 4), nll_dtype(), nll_without_bf16()).read_first(),
      input("target", &P::target, kTargetMeaning, rank(3, 3), nll_target_dtype(), nll_one_target_a_position<P>())
          .read_first(),
      input("weight", &P::weight, kWeightMeaning, rank(0, 8), same_dtype(&P::self), nll_one_weight_a_class<P>())
          .read_first());
  return spec;
}

void NLLLoss::plan(const Params& p, Planner& planner) { plan_forward(p, planner); }
void NLLLoss2d::plan(const Params& p, Planner& planner) { plan_forward(p, planner); }

}  // namespace descend

aclnnStatus aclnnNLLLossGetWorkspaceSize(const aclTensor* self, const aclTensor* target, const aclTensor* weight,
                                         int64_t reduction, int64_t ignoreIndex, aclTensor* out,
                                         aclTensor* totalWeightOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::NLLLoss>({self, target, weight, reduction, ignoreIndex, out, totalWeightOut},
                                         workspaceSize, executor);
}

aclnnStatus aclnnNLLLoss(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnNLLLoss", workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnNLLLoss2dGetWorkspaceSize(const aclTensor* self, const aclTensor* target, const aclTensor* weight,
                                           int64_t reduction, int64_t ignoreIndex, aclTensor* out,
                                           aclTensor* totalWeightOut, uint64_t* workspaceSize,
                                           aclOpExecutor** executor) {
  return descend::plan<descend::NLLLoss2d>({self, target, weight, reduction, ignoreIndex, out, totalWeightOut},
                                           workspaceSize, executor);
}

aclnnStatus aclnnNLLLoss2d(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnNLLLoss2d", workspace, workspaceSize, executor, stream);
}
