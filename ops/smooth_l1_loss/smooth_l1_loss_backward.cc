// SPDX-License-Identifier: MIT
// aclnnSmoothL1LossBackward: the contract, the plan and the entry points.
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"

#include "ops/smooth_l1_loss/smooth_l1_loss.h"
#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed = add_to_catalog<SmoothL1LossBackward>();

}  // namespace

const Spec<SmoothL1LossBackward::Params>& SmoothL1LossBackward::spec() {
  using P = Params;
  static const auto accepted = dtype_in(SmoothL1Dtypes{});
  static const auto no_bf16 = smooth_l1_without_bf16();
  static const auto has_their_shape = where<Stage::kShape>(
      "has the shape that gradOut, self and target broadcast to",
      [](const aclTensor& t, const P& p) { return broadcast_of(*p.gradOut, *p.self, *p.target) == t.shape; },
      [](aclTensor& t, P&) {
        t.shape.push_back(2);
        t.strides = row_major(t.shape);
      });
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnSmoothL1LossBackward", "The gradient of the smooth L1 loss with respect to its first input.",
      smooth_l1_products(), input("gradOut", &P::gradOut, "gradient at the loss", rank(0, 8), accepted, no_bf16),
      input("self", &P::self, "what the loss was evaluated at", rank(0, 8), accepted, no_bf16,
            broadcasts_with(&P::gradOut)),
      input("target", &P::target, "what self is compared with", rank(0, 8), accepted, no_bf16,
            broadcasts_with(&P::gradOut), broadcasts_with(&P::self)),
      attribute("reduction", &P::reduction, "how the loss was reduced", smooth_l1_reduction()),
      attribute("beta", &P::beta, "where the loss changes from square to straight", at_least(0.0f)),
      output("gradInput", &P::gradInput, "gradient at self", rank(0, 8), accepted, no_bf16, has_their_shape));
  return spec;
}

void SmoothL1LossBackward::plan(const Params& p, Planner& planner) {
  if (size_of(*p.gradInput) == 0) return;
  const DataType rounded = smooth_l1_promotion(*p.gradOut, *p.self, *p.target);
  const int64_t elements = *count(*broadcast_of(*p.self, *p.target));
  const double divisor = p.reduction == kSmoothL1Mean ? static_cast<double>(elements) : 1.0;
  if (size_of(*p.gradOut) == 1) {
    planner.launch(kSmoothL1LossBackwardOfOne,
                   {.points = iterate<3>({p.gradInput, p.self, p.target}),
                    .gradOut = p.gradOut->dtype,
                    .rounded = rounded,
                    .beta = p.beta,
                    .divisor = divisor},
                   std::array{p.gradInput, p.self, p.target, p.gradOut});
    return;
  }
  const std::array tensors{p.gradInput, p.gradOut, p.self, p.target};
  planner.launch(kSmoothL1LossBackward,
                 {.points = iterate<4>(tensors), .rounded = rounded, .beta = p.beta, .divisor = divisor}, tensors);
}

}  // namespace descend

aclnnStatus aclnnSmoothL1LossBackwardGetWorkspaceSize(const aclTensor* gradOut, const aclTensor* self,
                                                      const aclTensor* target, int64_t reduction, float beta,
                                                      aclTensor* gradInput, uint64_t* workspaceSize,
                                                      aclOpExecutor** executor) {
  return descend::plan<descend::SmoothL1LossBackward>({gradOut, self, target, reduction, beta, gradInput},
                                                      workspaceSize, executor);
}

aclnnStatus aclnnSmoothL1LossBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream) {
  return descend::run("aclnnSmoothL1LossBackward", workspace, workspaceSize, executor, stream);
}
