// SPDX-License-Identifier: MIT
// What phase one makes and phase two runs: a program, and the addresses it runs at.  An aclOpExecutor is a Plan.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/base/pool.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/tensor/tensor.h"

namespace descend {

inline constexpr size_t kMaxOperands = 16;  // of one kernel
inline constexpr size_t kMaxTensors = 12;   // parameters of one operator

// Where an operand of a kernel is: `bytes` from the address of a tensor parameter, or from the workspace.  The kernel
// sees null for an optional parameter that is absent.
struct Operand {
  static constexpr int32_t kWorkspace = -1, kAbsent = -2;
  int32_t address;
  int64_t bytes;
};

// One launch of a kernel, its arguments and operands kept in the program.
struct Step {
  using Call = Status (*)(void (*function)(), const void* arguments, void* const* data, Launch& launch);
  Call call;
  void (*function)();
  uint32_t arguments;     // offset in Program::arguments
  uint32_t first, count;  // in Program::operands
};

// The addresses of the tensor parameters that are present, each once, inputs first.
using Addresses = std::array<void*, kMaxTensors>;

// Everything about a call but where its tensors are.  Never changed once planned, so that calls alike share one.
struct Program {
  struct Parameter {
    const char* name;
    bool needs_address;        // a step touches it, and the view has elements
    bool staged = false;       // read completely before anything is written
    bool in_place = true;      // an output may be the very same view
    aclTensor view;            // for the address of the moment
    int64_t most = INT64_MAX;  // elements that a run touches: see Planner::reads_only
  };
  const char* function = "";  // that planned it
  const Backend* backend = nullptr;
  std::vector<Parameter> parameters;     // as in Addresses
  std::vector<int32_t> inputs, outputs;  // indices of `parameters`, as the API numbers them; -1: absent
  std::vector<Step> steps;
  std::vector<Operand> operands;
  std::vector<std::byte> arguments;
  // Instead of steps, on the reference device: runs the operator's reference at these addresses.
  std::function<void(void* const* addresses)> reference;
  uint64_t workspace = 0;
  uint64_t bytes = 0;      // that a run touches, about
  bool on_a_card = false;  // whose memory is not the host's
};

}  // namespace descend

struct aclOpExecutor {
  std::shared_ptr<const descend::Program> program;
  descend::Addresses addresses;  // apart from the program: a repeatable executor's tensors can move between runs
  std::atomic<bool> repeatable{false};
  std::atomic<bool> moved{false};  // an address is not the one phase one saw
};

// The rest is as NewPlan publishes it.
inline void clear(aclOpExecutor& plan) { plan.program = nullptr; }

namespace descend {

using Plan = aclOpExecutor;

// A plan for a call, before its life; null when there is no memory.  The one that this thread gave back last is taken
// first: no lock, warm in the cache, and with its program, because the same call often comes again.
Plan* new_plan() noexcept;
void give_back(Plan* retired) noexcept;

}  // namespace descend
