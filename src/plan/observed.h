// SPDX-License-Identifier: MIT
// What observers are told of the two phases.
#pragma once
#include "src/observe/advice.h"
#include "src/observe/observer.h"
#include "src/plan/plan.h"
#include "src/plan/spec.h"

namespace descend {

struct StreamObject;

namespace detail {

// The tensors of a call, also of one that the table refuses.
template <class P> void name_tensors(const Spec<P>& spec, const P& p, Advice& advice) {
  for (const Row<P>& row : spec.rows())
    if (row.tensor && p.*row.tensor) advice.tensors.push_back({row.name, p.*row.tensor});
}

// The attributes and scalars of a call.
template <class P> void describe_attributes(const Spec<P>& spec, const P& p, Advice& advice) {
  for (const Row<P>& row : spec.rows()) {
    if (row.tensor || !row.present(p)) continue;
    const std::string text = row.describe(p);
    advice.attributes += cat(advice.attributes.empty() ? "" : ", ", row.name, " ", text);
    advice.not_finite |= text.find("nan") != std::string::npos || text.find("inf") != std::string::npos;
  }
}

template <class Op> Advice advice_of(const typename Op::Params& p) {
  Advice advice;
  advice.function = Op::spec().function();
  name_tensors(Op::spec(), p, advice);
  describe_attributes(Op::spec(), p, advice);
  if constexpr (requires { Op::advise(p, advice); }) Op::advise(p, advice);
  return advice;
}

template <class Op> [[gnu::cold]] void tell_planned(const typename Op::Params& p, const aclOpExecutor* executor) {
  const Advice advice = advice_of<Op>(p);
  observe([&](Observer& o) {
    o.created(ObjectKind::kExecutor, executor);
    o.planned(executor, advice);
  });
}

// A call that the table refused, where the product is the reason.
template <class Op> [[gnu::cold]] void tell_refused(const typename Op::Params& p, const Status& why) {
  Advice advice;
  advice.function = Op::spec().function();
  name_tensors(Op::spec(), p, advice);
  if (why.code() == Code::kNoKernel) {
    advice.note(Advice::Remark::kNoOperator, "", why.message());
  } else if (why.code() == Code::kInvalid) {
    for (const auto& row : Op::spec().rows())
      for (const auto& check : row.checks)
        if (check.product && why.message().starts_with(cat(row.name, " must satisfy: ", check.rule, ";")))
          advice.note(Advice::Remark::kNoDtype, row.name, why.message());
  }
  observe([&](Observer& o) { o.refused(advice); });
}

// Phase two was asked to run an executor; null when there is no such.
[[gnu::cold]] void tell_used(const void* executor, const Plan* plan);

// Phase two, observed: as submit() in run.cc does it, with everybody told.
Status submit_observed(const Plan& plan, const void* executor, std::byte* workspace, StreamObject& stream);

// In run.cc: the kernels of a program, now.
Status run_on_device(const Program& program, const Addresses& addresses, Launch& launch);

}  // namespace detail
}  // namespace descend
