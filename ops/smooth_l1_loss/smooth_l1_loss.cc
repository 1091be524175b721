// SPDX-License-Identifier: MIT
// aclnnSmoothL1Loss: the contract, the plan and the entry points.
#include "ops/smooth_l1_loss/smooth_l1_loss.h"

#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed = add_to_catalog<SmoothL1Loss>();

}  // namespace

const Spec<SmoothL1Loss::Params>& SmoothL1Loss::spec() {
  using P = Params;
  static const auto accepted = dtype_in(SmoothL1Dtypes{});
  static const auto no_bf16 = smooth_l1_without_bf16();
  // With a reduction no output has this shape, so that nothing else counts its elements.
  static const auto can_be_counted = where<Stage::kShape>(
      "broadcasts with self to a shape whose element count fits in int64",
      [](const aclTensor& t, const P& p) {
        const auto shape = broadcast_of(*p.self, t);
        return shape && count(*shape);
      },
      [](aclTensor& t, P&) {
        t.shape = {int64_t{1} << 62, 1, 1};
        t.strides = {0, 0, 0};
      });
  static const auto holds_the_loss = where<Stage::kDtype>(
      "has a dtype that the promotion of self and target converts to",
      [](const aclTensor& t, const P& p) { return converts(smooth_l1_promotion(*p.self, *p.target), t.dtype); },
      [](aclTensor& t, P&) { t.dtype = DataType::kInt32; });
  // Whether reduction is one of the three is a later stage's to say.
  static const auto has_the_reduced_shape = where<Stage::kShape>(
      "has the shape that self and target broadcast to when reduction is 0, one element when it is 1 or 2",
      [](const aclTensor& t, const P& p) {
        if (p.reduction == kSmoothL1None) return broadcast_of(*p.self, *p.target) == t.shape;
        return (p.reduction != kSmoothL1Mean && p.reduction != kSmoothL1Sum) || size_of(t) == 1;
      },
      [](aclTensor& t, P&) {
        t.shape.push_back(2);
        t.strides = row_major(t.shape);
      });
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnSmoothL1Loss", "The smooth L1 loss: a square near the target, a straight line far from it.",
      smooth_l1_products(), input("self", &P::self, "where to evaluate the loss", rank(0, 8), accepted, no_bf16),
      input("target", &P::target, "what self is compared with", rank(0, 8), accepted, no_bf16,
            broadcasts_with(&P::self), can_be_counted),
      attribute("reduction", &P::reduction, "how the elements' losses become the result", smooth_l1_reduction()),
      attribute("beta", &P::beta, "where the loss changes from square to straight", at_least(0.0f)),
      output("result", &P::result, "the loss", rank(0, 8), holds_the_loss, has_the_reduced_shape));
  return spec;
}

void SmoothL1Loss::plan(const Params& p, Planner& planner) {
  const DataType rounded = smooth_l1_promotion(*p.self, *p.target);
  if (p.reduction == kSmoothL1None) {
    if (size_of(*p.result) == 0) return;
    const std::array tensors{p.result, p.self, p.target};
    planner.launch(kSmoothL1Loss, {.points = iterate<3>(tensors), .rounded = rounded, .beta = p.beta}, tensors);
    return;
  }
  planner.launch(kSmoothL1LossTotal,
                 {.points = iterate_in_order<2>(*broadcast_of(*p.self, *p.target), {p.self, p.target}),
                  .rounded = rounded,
                  .result = p.result->dtype,
                  .beta = p.beta,
                  .mean = p.reduction == kSmoothL1Mean},
                 std::array{p.self, p.target, p.result});
}

}  // namespace descend

aclnnStatus aclnnSmoothL1LossGetWorkspaceSize(const aclTensor* self, const aclTensor* target, int64_t reduction,
                                              float beta, aclTensor* result, uint64_t* workspaceSize,
                                              aclOpExecutor** executor) {
  return descend::plan<descend::SmoothL1Loss>({self, target, reduction, beta, result}, workspaceSize, executor);
}

aclnnStatus aclnnSmoothL1Loss(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnSmoothL1Loss", workspace, workspaceSize, executor, stream);
}
