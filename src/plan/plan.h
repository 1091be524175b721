// SPDX-License-Identifier: MIT
// What phase one makes and phase two runs.  An aclOpExecutor is a Plan.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/pool.h"
#include "src/base/status.h"
#include "src/device/device.h"

namespace descend {

// Where an operand of a kernel is: `bytes` from the address of a tensor parameter, or from the workspace.
struct Operand {
  static constexpr int32_t kWorkspace = -1;
  int32_t address;
  int64_t bytes;
};

// One launch of a kernel, its arguments and operands kept in the plan.
struct Step {
  using Call = Status (*)(void (*function)(), const void* arguments, void* const* data, Launch& launch);
  Call call;
  void (*function)();
  uint32_t arguments;     // offset in Plan::arguments
  uint32_t first, count;  // in Plan::operands
};

}  // namespace descend

// Addresses are kept apart from arguments, so that a repeatable executor's tensors can move between runs.
struct aclOpExecutor {
  struct Address {
    const char* parameter;
    void* data;
    bool needed;  // the view has elements
  };
  const char* function = "";  // that planned it
  const descend::Backend* backend = nullptr;
  std::vector<Address> addresses;
  std::vector<int32_t> inputs, outputs;  // indices of `addresses`, as the API numbers them; -1: absent
  std::vector<descend::Step> steps;
  std::vector<descend::Operand> operands;
  std::vector<std::byte> arguments;
  // Instead of steps, on the reference device: runs the operator's reference at these addresses.
  std::function<void(void* const* addresses)> reference;
  uint64_t workspace = 0;
  uint64_t bytes = 0;  // that a run touches, about
  std::atomic<bool> repeatable{false};
  std::atomic<int> references{0};  // the handle's, and one a submitted run
};

// Capacities are kept: planning again allocates nothing.
inline void clear(aclOpExecutor& plan) {
  plan.function = "";
  plan.backend = nullptr;
  plan.addresses.clear();
  plan.inputs.clear();
  plan.outputs.clear();
  plan.steps.clear();
  plan.operands.clear();
  plan.arguments.clear();
  plan.reference = nullptr;
  plan.workspace = 0;
  plan.bytes = 0;
  plan.repeatable.store(false, std::memory_order_relaxed);
}

namespace descend {

using Plan = aclOpExecutor;
inline constexpr size_t kMaxOperands = 16;  // of one kernel

// The executors of the process.  Their handles tell one life of a slot from the next.
Pool<Plan>& plans();

}  // namespace descend
