// SPDX-License-Identifier: MIT
// aclnnNLLLossBackward and aclnnNLLLoss2dBackward: the contracts, the plan and the entry points.
#include "aclnnop/aclnn_nll_loss_backward.h"

#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "ops/nll_loss/nll_loss_plan.h"
#include "ops/nll_loss/nll_loss_rules.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed[] = {add_to_catalog<NLLLossBackward>(), add_to_catalog<NLLLoss2dBackward>()};

using P = NLLLossBackwardParams;

// The rows that differ, and those that do not.
template <class GradOutput, class Self, class Target, class Weight, class Out>
const Spec<P>* make_spec(const char* function, const char* summary, GradOutput gradOutput, Self self, Target target,
                         Weight weight, Out out) {
  return new Spec<P>(
      function, summary, nll_products(), std::move(gradOutput), std::move(self), std::move(target), std::move(weight),
      attribute("reduction", &P::reduction, "how the loss was reduced", nll_reduction()),
      attribute("ignoreIndex", &P::ignoreIndex, "positions whose target is this number have no gradient"),
      input("totalWeight", &P::totalWeight, "what the mean divided by; read when reduction is 1 only", rank(0, 8),
            same_dtype(&P::self), one_element())
          .read_first(),
      std::move(out));
}

void plan_backward(const P& p, Planner& planner) {
  if (size_of(*p.out) == 0) return;
  const aclTensor out = at_first_class(*p.out);
  const bool reduced = p.reduction != kNLLNone;
  aclTensor gradOutput = *p.gradOutput;
  if (reduced) gradOutput.shape = gradOutput.strides = {};
  planner.reads_only(p.weight, size_of(*p.target));  // a position reads one
  // Almost all of out is zeros, which are written in a fraction of the time that a formula takes.
  const uint64_t bytes = static_cast<uint64_t>(size_of(*p.out)) * size_of(p.out->dtype) / 20 +
                         static_cast<uint64_t>(size_of(*p.target)) * size_of(p.target->dtype);
  planner.launch(kNLLLossBackward,
                 {.points = iterate<3>({&out, p.target, &gradOutput}),
                  .classes = nll_classes(p),
                  .class_stride = class_stride(*p.out),
                  .reduced = reduced,
                  .mean = p.reduction == kNLLMean},
                 std::array{p.out, p.target, p.gradOutput, p.weight, p.reduction == kNLLMean ? p.totalWeight : nullptr},
                 bytes);
}

constexpr const char* kGradOutputMeaning = "gradient at the loss";
constexpr const char* kSelfMeaning = "what the loss was evaluated at; only its shape is looked at";
constexpr const char* kTargetMeaning = "the class of each position";
constexpr const char* kWeightMeaning = "how much each class counts";
constexpr const char* kOutMeaning = "gradient at self";

}  // namespace

const Spec<P>& NLLLossBackward::spec() {
  static const Spec<P>& spec = *make_spec(
      "aclnnNLLLossBackward", "The gradient of the negative log likelihood loss of rows of classes.",
      input("gradOutput", &P::gradOutput, kGradOutputMeaning, rank(0, 1), nll_dtype(), nll_without_bf16(),
            nll_loss_gradient_shape<P>())
          .read_first(),
      input("self", &P::self, kSelfMeaning, rank(1, 2), nll_dtype(), nll_without_bf16(), same_dtype(&P::gradOutput),
            nll_has_classes<P>()),
      input("target", &P::target, kTargetMeaning, rank(0, 1), nll_target_dtype(), nll_one_target_a_position<P>())
          .read_first(),
      input("weight", &P::weight, kWeightMeaning, rank(1, 1), same_dtype(&P::self), nll_one_weight_a_class<P>())
          .read_first(),
      output("out", &P::out, kOutMeaning, rank(0, 8), holds_cast_of(&P::self), same_shape(&P::self)));
  return spec;
}

const Spec<P>& NLLLoss2dBackward::spec() {
  static const Spec<P>& spec = *make_spec(
      "aclnnNLLLoss2dBackward", "The gradient of the negative log likelihood loss of planes of classes.",
      input("gradOutput", &P::gradOutput, kGradOutputMeaning, rank(0, 3), nll_dtype(), nll_without_bf16(),
            nll_loss_gradient_shape<P>())
          .read_first(),
      input("self", &P::self, kSelfMeaning, rank(4, 4), nll_dtype(), nll_without_bf16(), same_dtype(&P::gradOutput)),
      input("target", &P::target, kTargetMeaning, rank(3, 3), nll_target_dtype(), nll_one_target_a_position<P>())
          .read_first(),
      input("weight", &P::weight, kWeightMeaning, rank(0, 8), same_dtype(&P::self), nll_one_weight_a_class<P>())
          .read_first(),
      output("out", &P::out, kOutMeaning, rank(0, 8), same_dtype(&P::self), same_shape(&P::self)));
  return spec;
}

void NLLLossBackward::plan(const Params& p, Planner& planner) { plan_backward(p, planner); }
void NLLLoss2dBackward::plan(const Params& p, Planner& planner) { plan_backward(p, planner); }

}  // namespace descend

aclnnStatus aclnnNLLLossBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                 const aclTensor* target, const aclTensor* weight, int64_t reduction,
                                                 int64_t ignoreIndex, const aclTensor* totalWeight, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::NLLLossBackward>(
      {gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight, out}, workspaceSize, executor);
}

aclnnStatus aclnnNLLLossBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnNLLLossBackward", workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnNLLLoss2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                   const aclTensor* target, const aclTensor* weight, int64_t reduction,
                                                   int64_t ignoreIndex, aclTensor* totalWeight, aclTensor* out,
                                                   uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::NLLLoss2dBackward>(
      {gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight, out}, workspaceSize, executor);
}

aclnnStatus aclnnNLLLoss2dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream) {
  return descend::run("aclnnNLLLoss2dBackward", workspace, workspaceSize, executor, stream);
}
