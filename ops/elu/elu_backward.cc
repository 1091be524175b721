// SPDX-License-Identifier: MIT
// aclnnEluBackward: the contract, the plan and the entry points.
#include "aclnnop/aclnn_elu_backward.h"

#include "ops/elu/elu.h"
#include "ops/elu/elu_kernels.h"

namespace descend {
namespace {

using Accepted = Dtypes<float, float16, bfloat16>;
[[maybe_unused]] const bool listed = add_to_catalog<EluBackward>();

}  // namespace

const Spec<EluBackward::Params>& EluBackward::spec() {
  using P = Params;
  static const auto no_bf16 = dtype_not_on<bfloat16>({Product::kAtlasInference, Product::kAtlasTraining});
  static const auto tells_the_branch = where(
      "is not negative when isResult is true (ELU's output would no longer tell the sign of its input)",
      [](const aclScalar& alpha, const P& p) { return !p.isResult || !(as_double(alpha) < 0); },
      [](aclScalar& alpha, P& p) {
        alpha = {.dtype = DataType::kFloat, .real = -1};
        p.isResult = true;
      });
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnEluBackward", "The gradient of ELU with respect to its input.", elu_products(),
      input("gradOutput", &P::gradOutput, "gradient at the output of ELU", rank(0, 8), dtype_in(Accepted{}), no_bf16),
      number("alpha", &P::alpha, "ELU's alpha", converts_to_float(), tells_the_branch),
      number("scale", &P::scale, "ELU's scale", converts_to_float()),
      number("inputScale", &P::inputScale, "ELU's input scale", converts_to_float()),
      attribute("isResult", &P::isResult, "whether selfOrResult is ELU's output and not its input"),
      input("selfOrResult", &P::selfOrResult, "ELU's input, or its output", rank(0, 8), same_dtype(&P::gradOutput),
            same_shape(&P::gradOutput)),
      output("gradInput", &P::gradInput, "gradient at the input of ELU", rank(0, 8), holds_cast_of(&P::gradOutput),
             same_shape(&P::gradOutput)));
  return spec;
}

void EluBackward::plan(const Params& p, Planner& planner) {
  if (size_of(*p.gradInput) == 0) return;
  const std::array tensors{p.gradInput, p.gradOutput, p.selfOrResult};
  planner.launch(kEluBackward,
                 {.points = iterate<3>(tensors),
                  .rounded = p.gradOutput->dtype,
                  .isResult = p.isResult,
                  .numbers = {as_float(*p.alpha), as_float(*p.scale), as_float(*p.inputScale)}},
                 tensors);
}

}  // namespace descend

aclnnStatus aclnnEluBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclScalar* alpha,
                                             const aclScalar* scale, const aclScalar* inputScale, bool isResult,
                                             const aclTensor* selfOrResult, aclTensor* gradInput,
                                             uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::EluBackward>({gradOutput, alpha, scale, inputScale, isResult, selfOrResult, gradInput},
                                             workspaceSize, executor);
}

aclnnStatus aclnnEluBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnEluBackward", workspace, workspaceSize, executor, stream);
}
