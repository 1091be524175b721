// SPDX-License-Identifier: MIT
// The life of executors: handles, single use and repeatable use.
#pragma once
#include <utility>

#include "src/plan/plan.h"

namespace descend {

// Keeps a plan from being recycled.
class PlanReference {
 public:
  // The executor of a handle, to look at or change; null when the handle is not a live executor.
  static PlanReference find(const aclOpExecutor* handle) noexcept;
  // The executor of a handle, to run once: unless it is repeatable the handle is dead from now on.
  static PlanReference use(const aclOpExecutor* handle) noexcept;
  // Ends the handle's life; false when it was not alive.  Runs that are under way keep the plan.
  static bool destroy(const aclOpExecutor* handle) noexcept;

  PlanReference(PlanReference&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  PlanReference& operator=(PlanReference&&) = delete;
  ~PlanReference() { release(plan_); }

  explicit operator bool() const { return plan_ != nullptr; }
  Plan& operator*() const { return *plan_; }
  Plan* operator->() const { return plan_; }

 private:
  explicit PlanReference(Plan* plan) : plan_(plan) {}
  // The reference that the handle held; exactly one caller gets it.
  static PlanReference take(Plan* plan, const aclOpExecutor* handle) noexcept;
  static void release(Plan* plan) noexcept;

  Plan* plan_;
};

}  // namespace descend
