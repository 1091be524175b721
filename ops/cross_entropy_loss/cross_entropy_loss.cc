// SPDX-License-Identifier: MIT
// aclnnCrossEntropyLoss: the contract, the plan and the entry points.
#include "ops/cross_entropy_loss/cross_entropy_loss.h"

#include "aclnnop/aclnn_cross_entropy_loss.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed = add_to_catalog<CrossEntropyLoss>();

// Whether the reduction is one of the three is a later stage's to say.
bool has_the_shape_of_the_loss(const aclTensor& t, const CrossEntropyLoss::Params& p) {
  const auto reduction = cross_entropy_reduction(p.reductionOptional);
  if (!reduction || p.input->shape.size() != 2) return true;
  return *reduction == CrossEntropyReduction::kNone ? t.shape == Shape{p.input->shape[0]} : size_of(t) == 1;
}

}  // namespace

const Spec<CrossEntropyLoss::Params>& CrossEntropyLoss::spec() {
  using P = Params;
  static const auto accepted = dtype_in(CrossEntropyDtypes{});
  static const auto as_input = same_dtype(&P::input);
  static const auto along_rows = cross_entropy_along(&P::input, 0), along_classes = cross_entropy_along(&P::input, 1);
  static const auto tiling = [](auto rule) { return answered_with(Code::kTiling, rule); };
  static const auto of_the_loss =
      where<Stage::kShape>("has the shape (N) for \"none\", one element for \"mean\" and \"sum\"",
                           has_the_shape_of_the_loss, [](aclTensor& t, P&) { cross_entropy_break_shape(t); });
  static const auto returned = [](auto rule) {
    auto when_returned = where<Stage::kShape>(
        cat(rule.text, " when returnZloss is true"),
        [holds = rule.holds](const aclTensor& t, const P& p) { return !p.returnZloss || holds(t, p); }, rule.violate);
    return answered_with(Code::kTiling, only_with(kZlossExtension, when_returned));
  };
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnCrossEntropyLoss", "The cross entropy of scores of classes and labels.", cross_entropy_products(),
      input("input", &P::input, "scores of the classes, a row of them for each label", rank(0, 8), accepted,
            cross_entropy_is_matrix()),
      input("target", &P::target, "the labels: numbers of classes", rank(0, 8), dtype_in(Dtypes<int64_t, int32_t>{}),
            cross_entropy_int32_on_one_product(), tiling(along_rows))
          .read_first(),
      optional_input("weightOptional", &P::weightOptional, "how much each class counts; null: 1", rank(0, 8),
                     dtype_in(Dtypes<float>{}), tiling(along_classes))
          .read_first(),
      optional_text("reductionOptional", &P::reductionOptional, "how the rows' losses become one; null: \"mean\"",
                    cross_entropy_reduction_rule()),
      attribute("ignoreIndex", &P::ignoreIndex, "the label of rows that do not count"),
      attribute("labelSmoothing", &P::labelSmoothing, "which part of a label is spread over all classes",
                cross_entropy_smoothing_rule()),
      attribute("lseSquareScaleForZloss", &P::lseSquareScaleForZloss,
                "the factor of the z-loss; without effect but for the extension zloss"),
      attribute("returnZloss", &P::returnZloss,
                "whether to write the z-loss; without effect but for the extension zloss"),
      output("lossOut", &P::lossOut, "the loss", rank(0, 8), accepted, as_input, tiling(of_the_loss)),
      output("logProbOut", &P::logProbOut, "logarithms of the classes' probabilities", rank(0, 8), accepted, as_input,
             tiling(same_shape(&P::input))),
      output("zlossOut", &P::zlossOut, "the z-loss; not written but for the extension zloss", rank(0, 8), accepted,
             as_input, returned(of_the_loss)),
      output("lseForZlossOut", &P::lseForZlossOut,
             "logarithms of the rows' sums of exponentials; not written but for the extension zloss", rank(0, 8),
             accepted, as_input, returned(along_rows)));
  return spec;
}

void CrossEntropyLoss::plan(const Params& p, Planner& planner) {
  const auto reduction = *cross_entropy_reduction(p.reductionOptional);
  if (size_of(*p.input) == 0 && reduction == CrossEntropyReduction::kNone) return;
  const bool zloss = has_extension(kZlossExtension), write_zloss = zloss && p.returnZloss;
  // Smoothing alone needs the weights of all classes.
  if (p.labelSmoothing == 0) planner.reads_only(p.weightOptional, size_of(*p.target));
  planner.launch(kCrossEntropyLoss,
                 {.labels = cross_entropy_labels(*p.input, *p.target, p.weightOptional, p.ignoreIndex),
                  .dtype = p.input->dtype,
                  .input = {p.input->strides[0], p.input->strides[1]},
                  .log_prob = {p.logProbOut->strides[0], p.logProbOut->strides[1]},
                  .loss_stride = cross_entropy_row_stride(p.lossOut),
                  .zloss_stride = cross_entropy_row_stride(p.zlossOut),
                  .lse_stride = cross_entropy_row_stride(p.lseForZlossOut),
                  .reduction = reduction,
                  .smoothing = p.labelSmoothing,
                  .zloss_scale = zloss ? p.lseSquareScaleForZloss : 0,
                  .write_zloss = write_zloss},
                 std::array{p.target, p.weightOptional, p.input, p.lossOut, p.logProbOut,
                            write_zloss ? p.zlossOut : nullptr, write_zloss ? p.lseForZlossOut : nullptr});
}

}  // namespace descend

aclnnStatus aclnnCrossEntropyLossGetWorkspaceSize(const aclTensor* input, const aclTensor* target,
                                                  const aclTensor* weightOptional, char* reductionOptional,
                                                  int64_t ignoreIndex, double labelSmoothing,
                                                  double lseSquareScaleForZloss, bool returnZloss,
                                                  const aclTensor* lossOut, const aclTensor* logProbOut,
                                                  const aclTensor* zlossOut, const aclTensor* lseForZlossOut,
                                                  uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::CrossEntropyLoss>(
      {input, target, weightOptional, reductionOptional, ignoreIndex, labelSmoothing, lseSquareScaleForZloss,
       returnZloss, lossOut, logProbOut, zlossOut, lseForZlossOut},
      workspaceSize, executor);
}

aclnnStatus aclnnCrossEntropyLoss(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream) {
  return descend::run("aclnnCrossEntropyLoss", workspace, workspaceSize, executor, stream);
}
