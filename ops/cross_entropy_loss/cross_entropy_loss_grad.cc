// SPDX-License-Identifier: MIT
// aclnnCrossEntropyLossGrad: the contract, the plan and the entry points.
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"

#include "ops/cross_entropy_loss/cross_entropy_loss.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed = add_to_catalog<CrossEntropyLossGrad>();

// A gradient at the loss.  Whether the reduction is one of the three is a later stage's to say.
auto has_the_shape_of_the_loss() {
  using P = CrossEntropyLossGrad::Params;
  return where<Stage::kShape>(
      "has the shape (N) for \"none\", rank 0 or the shape (1) for \"mean\" and \"sum\"",
      [](const aclTensor& t, const P& p) {
        const auto reduction = cross_entropy_reduction(p.reductionOptional);
        if (!reduction || p.logProb->shape.size() != 2) return true;
        if (*reduction == CrossEntropyReduction::kNone) return t.shape == Shape{p.logProb->shape[0]};
        return t.shape.empty() || t.shape == Shape{1};
      },
      [](aclTensor& t, P&) { cross_entropy_break_shape(t); });
}

}  // namespace

const Spec<CrossEntropyLossGrad::Params>& CrossEntropyLossGrad::spec() {
  using P = Params;
  static const auto accepted = dtype_in(CrossEntropyDtypes{});
  static const auto as_gradient = same_dtype(&P::gradLoss);
  static const auto along_rows = cross_entropy_along(&P::logProb, 0),
                    along_classes = cross_entropy_along(&P::logProb, 1);
  static const auto of_the_loss = has_the_shape_of_the_loss();
  static const auto tiling = [](auto rule) { return answered_with(Code::kTiling, rule); };
  static const auto zloss = [](auto rule) { return answered_with(Code::kTiling, only_with(kZlossExtension, rule)); };
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnCrossEntropyLossGrad", "The gradient of the cross entropy with respect to the scores of the classes.",
      cross_entropy_products(),
      input("gradLoss", &P::gradLoss, "gradient at the loss", rank(0, 8), accepted, tiling(of_the_loss)).read_first(),
      input("logProb", &P::logProb, "logarithms of the classes' probabilities, a row of them for each label",
            rank(0, 8), accepted, as_gradient, cross_entropy_is_matrix()),
      input("target", &P::target, "the labels: numbers of classes", rank(0, 8), dtype_in(Dtypes<int64_t, int32_t>{}),
            cross_entropy_int32_on_one_product(), tiling(along_rows))
          .read_first(),
      optional_input("weightOptional", &P::weightOptional, "how much each class counts; null: 1", rank(0, 8),
                     dtype_in(Dtypes<float>{}), tiling(along_classes))
          .read_first(),
      optional_input("gradZlossOptional", &P::gradZlossOptional,
                     "gradient at the z-loss; without effect but for the extension zloss", rank(0, 8), accepted,
                     as_gradient, zloss(of_the_loss))
          .read_first(),
      optional_input("lseForZlossOptional", &P::lseForZlossOptional,
                     "logarithms of the rows' sums of exponentials; without effect but for the extension zloss",
                     rank(0, 8), accepted, as_gradient, zloss(along_rows))
          .read_first(),
      optional_text("reductionOptional", &P::reductionOptional, "how the loss was reduced; null: \"mean\"",
                    cross_entropy_reduction_rule()),
      attribute("ignoreIndex", &P::ignoreIndex, "the label of rows that do not count"),
      attribute("labelSmoothing", &P::labelSmoothing, "which part of a label is spread over all classes",
                cross_entropy_smoothing_rule()),
      attribute("lseSquareScaleForZloss", &P::lseSquareScaleForZloss,
                "the factor of the z-loss; without effect but for the extension zloss"),
      output("out", &P::out, "gradient at the scores", rank(0, 8), accepted, as_gradient,
             tiling(same_shape(&P::logProb))));
  return spec;
}

void CrossEntropyLossGrad::plan(const Params& p, Planner& planner) {
  if (size_of(*p.out) == 0) return;
  const bool zloss = has_extension(kZlossExtension) && p.lseForZlossOptional;
  // Smoothing alone needs the weights of all classes.
  if (p.labelSmoothing == 0) planner.reads_only(p.weightOptional, size_of(*p.target));
  planner.launch(kCrossEntropyLossGrad,
                 {.labels = cross_entropy_labels(*p.logProb, *p.target, p.weightOptional, p.ignoreIndex),
                  .dtype = p.out->dtype,
                  .log_prob = {p.logProb->strides[0], p.logProb->strides[1]},
                  .out = {p.out->strides[0], p.out->strides[1]},
                  .gradient_stride = cross_entropy_row_stride(p.gradLoss),
                  .zloss_gradient_stride = cross_entropy_row_stride(p.gradZlossOptional),
                  .lse_stride = zloss ? cross_entropy_row_stride(p.lseForZlossOptional) : 0,
                  .reduction = *cross_entropy_reduction(p.reductionOptional),
                  .smoothing = p.labelSmoothing,
                  .zloss_scale = zloss ? p.lseSquareScaleForZloss : 0},
                 std::array{p.target, p.weightOptional, p.gradLoss, p.logProb, p.out,
                            zloss ? p.gradZlossOptional : nullptr, zloss ? p.lseForZlossOptional : nullptr});
}

}  // namespace descend

aclnnStatus aclnnCrossEntropyLossGradGetWorkspaceSize(const aclTensor* gradLoss, const aclTensor* logProb,
                                                      const aclTensor* target, const aclTensor* weightOptional,
                                                      const aclTensor* gradZlossOptional,
                                                      const aclTensor* lseForZlossOptional, char* reductionOptional,
                                                      int64_t ignoreIndex, double labelSmoothing,
                                                      double lseSquareScaleForZloss, const aclTensor* out,
                                                      uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::CrossEntropyLossGrad>(
      {gradLoss, logProb, target, weightOptional, gradZlossOptional, lseForZlossOptional, reductionOptional,
       ignoreIndex, labelSmoothing, lseSquareScaleForZloss, out},
      workspaceSize, executor);
}

aclnnStatus aclnnCrossEntropyLossGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream) {
  return descend::run("aclnnCrossEntropyLossGrad", workspace, workspaceSize, executor, stream);
}
