// SPDX-License-Identifier: MIT
// aclOpExecutor: repeatable use, new addresses, the end.
#include "src/plan/executor.h"

#include "aclnn/acl_meta.h"
#include "src/aclnn/guard.h"
#include "src/observe/observer.h"
#include "src/plan/objects.h"

using namespace descend;

namespace {

// Which of an executor's tensors an index counts.
enum class Among { kAll, kInputs, kOutputs };

Status not_an_executor(const aclOpExecutor* executor, Code code) {
  return {code, cat("executor must satisfy: was made by phase one and not used or destroyed since; it is ",
                    static_cast<const void*>(executor), ", which is no such executor")};
}

// The index in Plan::addresses; -1 when there is none.
int32_t address_of(const Program& program, Among among, size_t index) {
  const auto at = [](const std::vector<int32_t>& list, size_t i) { return i < list.size() ? list[i] : -1; };
  if (among == Among::kInputs) return at(program.inputs, index);
  if (among == Among::kOutputs) return at(program.outputs, index);
  return index < program.inputs.size() ? program.inputs[index] : at(program.outputs, index - program.inputs.size());
}

aclnnStatus set_address(const char* function, Among among, aclOpExecutor* executor, size_t index,
                        const aclTensor* tensor, void* addr) noexcept {
  return guarded(function, [&]() -> Status {
    if (!executor) return null_argument("executor", Code::kInnerNullPointer);
    if (!tensor) return null_argument("tensor", Code::kInnerNullPointer);
    if (Status s = check_object("tensor", tensors(), tensor); !s.ok()) return s;
    const PlanReference plan = PlanReference::find(executor);
    if (!plan) return not_an_executor(executor, Code::kInvalid);
    const Program& program = *plan->program;
    const int32_t at = address_of(program, among, index);
    if (at < 0)
      return {Code::kInvalid,
              cat("index must satisfy: counts a tensor that phase one of ", program.function, " was given; it is ",
                  index, " of ", program.inputs.size(), " inputs and ", program.outputs.size(), " outputs")};
    plan->addresses[static_cast<size_t>(at)] = addr;
    plan->moved.store(true, std::memory_order_relaxed);
    return {};
  });
}

// No operator here takes a tensor list, so no index of one is ever in range.
aclnnStatus set_list_address(const char* function, aclOpExecutor* executor, size_t list_index,
                             const aclTensorList* list) noexcept {
  return guarded(function, [&]() -> Status {
    if (!executor) return null_argument("executor", Code::kInnerNullPointer);
    if (!list) return null_argument("tensors", Code::kInnerNullPointer);
    if (Status s = check_object("tensors", tensor_lists(), list); !s.ok()) return s;
    const PlanReference plan = PlanReference::find(executor);
    if (!plan) return not_an_executor(executor, Code::kInvalid);
    return {Code::kInvalid, cat("irIndex must satisfy: counts a tensor list that phase one of ",
                                plan->program->function, " was given; it is ", list_index, " and there are none")};
  });
}

}  // namespace

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return guarded("aclSetAclOpExecutorRepeatable", [&]() -> Status {
    if (!executor) return null_argument("executor", Code::kInnerNullPointer);
    const PlanReference plan = PlanReference::find(executor);
    if (!plan) return not_an_executor(executor, Code::kInner);
    plan->repeatable.store(true, std::memory_order_relaxed);
    return {};
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return guarded("aclDestroyAclOpExecutor", [&]() -> Status {
    if (!executor) return null_argument("executor", Code::kInnerNullPointer);
    const bool destroyed = PlanReference::destroy(executor);
    observe([&](Observer& o) {
      if (destroyed)
        o.destroyed(ObjectKind::kExecutor, executor);
      else
        o.missing_executor(executor, false);
    });
    return destroyed ? Status() : not_an_executor(executor, Code::kInner);
  });
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return set_address("aclSetTensorAddr", Among::kAll, executor, index, tensor, addr);
}
aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return set_address("aclSetInputTensorAddr", Among::kInputs, executor, index, tensor, addr);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return set_address("aclSetOutputTensorAddr", Among::kOutputs, executor, index, tensor, addr);
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t, aclTensorList* tensors,
                                    void*) {
  return set_list_address("aclSetDynamicTensorAddr", executor, irIndex, tensors);
}
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t, aclTensorList* tensors,
                                         void*) {
  return set_list_address("aclSetDynamicInputTensorAddr", executor, irIndex, tensors);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t, aclTensorList* tensors,
                                          void*) {
  return set_list_address("aclSetDynamicOutputTensorAddr", executor, irIndex, tensors);
}
