// SPDX-License-Identifier: MIT
#include "src/plan/executor.h"

#include "src/base/of_thread.h"

namespace descend {
namespace {

void recycle(Plan* plan) { plans().recycle(plan); }
using Spare = OfThread<Plan, recycle>;

}  // namespace

Plan* new_plan() noexcept {
  Plan* const spare = Spare::take();
  if (!spare) return plans().make();
  plans().revive(spare);
  return spare;
}

void give_back(Plan* retired) noexcept {
  if (Spare::get() || !Spare::put(retired)) plans().recycle(retired);
}

PlanReference PlanReference::find(const aclOpExecutor* handle) noexcept {
  const Pool<Plan>& pool = plans();
  Plan* plan = pool.find(handle);
  if (!plan) return PlanReference(nullptr);
  // The plan may be recycled at any moment until it is referenced, and be another call's afterwards.  Its memory stays
  // readable, so: reference it if it is in use at all, then ask again whether it is still this handle's.
  int count = plan->references.load(std::memory_order_relaxed);
  do {
    if (count == 0) return PlanReference(nullptr);
  } while (!plan->references.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel));
  PlanReference reference(plan);
  return pool.find(handle) == plan ? std::move(reference) : PlanReference(nullptr);
}

PlanReference PlanReference::use(const aclOpExecutor* handle) noexcept {
  Plan* plan = plans().find(handle);
  if (plan && plan->repeatable.load(std::memory_order_relaxed)) return find(handle);
  return take(plan, handle);
}

PlanReference PlanReference::take(Plan* plan, const aclOpExecutor* handle) noexcept {
  return PlanReference(plan && Pool<Plan>::end_life(plan, handle) ? plan : nullptr);
}

bool PlanReference::destroy(const aclOpExecutor* handle) noexcept {
  return static_cast<bool>(take(plans().find(handle), handle));
}

void PlanReference::release(Plan* plan) noexcept {
  if (plan && plan->references.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(plan);
}

}  // namespace descend
