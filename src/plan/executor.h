// SPDX-License-Identifier: MIT
// The life of executors: handles, single use and repeatable use.
#pragma once
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

  PlanReference(const PlanReference&) = delete;
  PlanReference& operator=(const PlanReference&) = delete;
  ~PlanReference() { release(); }

  explicit operator bool() const { return plan_ != nullptr; }
  Plan& operator*() const { return *plan_; }
  Plan* operator->() const { return plan_; }

 private:
  PlanReference(Plan* plan, bool alone) : plan_(plan), alone_(alone) {}
  void release() noexcept;

  Plan* const plan_;
  const bool alone_;  // the only one, for ever: not counted
};

}  // namespace descend
