// SPDX-License-Identifier: MIT
#include "src/plan/executor.h"

namespace descend {

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
  Pool<Plan>& pool = plans();
  const Plan* plan = pool.find(handle);
  if (plan && plan->repeatable.load(std::memory_order_relaxed)) return find(handle);
  return PlanReference(pool.take(handle));  // with the reference the handle held
}

bool PlanReference::destroy(const aclOpExecutor* handle) noexcept {
  const PlanReference taken(plans().take(handle));
  return static_cast<bool>(taken);
}

void PlanReference::release(Plan* plan) noexcept {
  if (plan && plan->references.fetch_sub(1, std::memory_order_acq_rel) == 1) plans().recycle(plan);
}

}  // namespace descend
