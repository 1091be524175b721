// SPDX-License-Identifier: MIT
// aclnnElu and aclnnInplaceElu: the contracts, the plans and the entry points.
#include "ops/elu/elu.h"

#include "aclnnop/aclnn_elu.h"
#include "ops/elu/elu_kernels.h"

namespace descend {
namespace {

using Accepted = Dtypes<float, float16, bfloat16, double>;

void launch(const aclTensor* self, const aclTensor* out, const aclScalar* alpha, const aclScalar* scale,
            const aclScalar* inputScale, Planner& planner) {
  if (size_of(*out) == 0) return;
  const auto number = [&](const aclScalar* s) {
    return self->dtype == DataType::kDouble ? as_double(*s) : double{as_float(*s)};
  };
  const std::array tensors{out, self};
  planner.launch(kElu,
                 {.points = iterate<2>(tensors),
                  .rounded = self->dtype,
                  .numbers = {number(alpha), number(scale), number(inputScale)}},
                 tensors);
}

[[maybe_unused]] const bool listed[] = {add_to_catalog<Elu>(), add_to_catalog<InplaceElu>()};

}  // namespace

const Spec<Elu::Params>& Elu::spec() {
  using P = Params;
  static const Spec<P>& spec =
      *new Spec<P>("aclnnElu", "The exponential linear unit: x where x > 0, alpha (exp(x) - 1) elsewhere, scaled.",
                   elu_products(), input("self", &P::self, "where to evaluate ELU", rank(0, 8), dtype_in(Accepted{})),
                   number("alpha", &P::alpha, "height of the negative side", converts_to_float()),
                   number("scale", &P::scale, "factor of the result", converts_to_float()),
                   number("inputScale", &P::inputScale, "factor of x in the exponential", converts_to_float()),
                   output("out", &P::out, "ELU of self", rank(0, 8), holds_cast_of(&P::self), same_shape(&P::self)));
  return spec;
}

void Elu::plan(const Params& p, Planner& planner) { launch(p.self, p.out, p.alpha, p.scale, p.inputScale, planner); }

const Spec<InplaceElu::Params>& InplaceElu::spec() {
  using P = Params;
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnInplaceElu", "ELU, written over its input.", elu_products(),
      in_out("selfRef", &P::selfRef, "where to evaluate ELU, and the result", rank(0, 8), dtype_in(Accepted{})),
      number("alpha", &P::alpha, "height of the negative side", converts_to_float()),
      number("scale", &P::scale, "factor of the result", converts_to_float()),
      number("inputScale", &P::inputScale, "factor of x in the exponential", converts_to_float()));
  return spec;
}

void InplaceElu::plan(const Params& p, Planner& planner) {
  launch(p.selfRef, p.selfRef, p.alpha, p.scale, p.inputScale, planner);
}

}  // namespace descend

aclnnStatus aclnnEluGetWorkspaceSize(const aclTensor* self, const aclScalar* alpha, const aclScalar* scale,
                                     const aclScalar* inputScale, aclTensor* out, uint64_t* workspaceSize,
                                     aclOpExecutor** executor) {
  return descend::plan<descend::Elu>({self, alpha, scale, inputScale, out}, workspaceSize, executor);
}

aclnnStatus aclnnElu(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnElu", workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnInplaceEluGetWorkspaceSize(aclTensor* selfRef, const aclScalar* alpha, const aclScalar* scale,
                                            const aclScalar* inputScale, uint64_t* workspaceSize,
                                            aclOpExecutor** executor) {
  return descend::plan<descend::InplaceElu>({selfRef, alpha, scale, inputScale}, workspaceSize, executor);
}

aclnnStatus aclnnInplaceElu(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return descend::run("aclnnInplaceElu", workspace, workspaceSize, executor, stream);
}
