// SPDX-License-Identifier: MIT
#include "src/plan/executor.h"

namespace descend {
namespace {

// Both outlive the owner.
thread_local Plan* spare = nullptr;
thread_local bool ended = false;

struct SpareOwner {
  ~SpareOwner() {
    if (spare) plans().recycle(std::exchange(spare, nullptr));
    ended = true;
  }
};

}  // namespace

Plan* new_plan() noexcept {
  if (!spare) return plans().make();
  plans().revive(spare);
  return std::exchange(spare, nullptr);
}

void give_back(Plan* retired) noexcept {
  if (spare || ended) return plans().recycle(retired);
  static thread_local SpareOwner owner;
  retired->repeatable.store(false, std::memory_order_relaxed);
  retired->moved.store(false, std::memory_order_relaxed);
  spare = retired;
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
  if (plan && plan->references.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(plan);
}

}  // namespace descend
