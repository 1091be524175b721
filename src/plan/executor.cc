// SPDX-License-Identifier: MIT
#include "src/plan/executor.h"

#include "src/base/of_thread.h"

namespace descend {
namespace {

// The executors of the process, whose handles tell one life of a slot from the next.  Made when the library is loaded:
// asking at every call whether it is made takes 3 % of a small one.
Pool<Plan>& plans = *new Pool<Plan>;

void recycle(Plan* plan) { plans.recycle(plan); }
using Spare = OfThread<Plan, recycle>;

}  // namespace

Plan* new_plan() noexcept {
  Plan* const spare = Spare::take();
  return spare ? spare : plans.reserve();
}

void give_back(Plan* retired) noexcept {
  // A plan whose handles would begin anew rests as long as others do: a consumed one is recognised for millions of
  // calls.
  if (Spare::get() || Pool<Plan>::numbers_end(retired) || !Spare::put(retired)) plans.recycle(retired);
}

PlanReference PlanReference::find(const aclOpExecutor* handle) noexcept { return {plans.hold(handle), false}; }

PlanReference PlanReference::use(const aclOpExecutor* handle) noexcept {
  const Plan* plan = plans.peek(handle);
  if (!plan) return {nullptr, false};
  if (plan->repeatable.load(std::memory_order_relaxed)) return find(handle);
  const auto [object, alone] = plans.end_life(handle);
  return {object, alone};
}

bool PlanReference::destroy(const aclOpExecutor* handle) noexcept {
  const auto [object, alone] = plans.end_life(handle);
  return static_cast<bool>(PlanReference(object, alone));
}

void PlanReference::release() noexcept {
  if (plan_ && (alone_ || Pool<Plan>::let_go(plan_))) give_back(plan_);
}

}  // namespace descend
