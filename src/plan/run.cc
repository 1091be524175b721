// SPDX-License-Identifier: MIT
// Phase two: an executor meets a stream.
#include <chrono>
#include <cstring>

#include "src/base/text.h"
#include "src/plan/executor.h"
#include "src/plan/planner.h"
#include "src/runtime/context.h"

namespace descend {
namespace {

// The tensor parameters' addresses at the moment of submission: a repeatable executor may get new ones meanwhile.
using Addresses = std::array<void*, kMaxOperands>;

Status run_steps(const Plan& plan, const Addresses& addresses, Launch& launch) {
  if (plan.reference) {
    plan.reference(addresses.data());
    return {};
  }
  for (const Step& step : plan.steps) {
    void* data[kMaxOperands];
    for (uint32_t k = 0; k < step.count; ++k) {
      const Operand& at = plan.operands[step.first + k];
      void* base = at.address == Operand::kWorkspace ? launch.workspace : addresses[static_cast<size_t>(at.address)];
      data[k] = static_cast<std::byte*>(base) + at.bytes;
    }
    if (Status s = step.call(step.function, plan.arguments.data() + step.arguments, data, launch); !s.ok()) return s;
  }
  return {};
}

// A failure on the device, as the next synchronisation reports it: a runtime code and the operator's name.
Status device_failure(const Plan& plan, const Status& s) {
  const auto code = static_cast<int32_t>(s.code());
  const bool runtime_code = code / 1000 == 507 || s.code() == Code::kOutOfMemory;
  return {runtime_code ? s.code() : Code::kKernelFailed, cat(plan.function, ": ", s.message()), s.solution()};
}

Status run_guarded(const Plan& plan, const Addresses& addresses, Launch& launch) {
  try {
    Status s = run_steps(plan, addresses, launch);
    return s.ok() ? s : device_failure(plan, s);
  } catch (const std::bad_alloc&) {
    return {Code::kOutOfMemory, cat(plan.function, ": out of host memory")};
  } catch (const std::exception& e) {
    return {Code::kInternal, cat(plan.function, ": ", e.what())};
  }
}

// Nothing can stop a running kernel, so a limit on its time is judged when it has ended.
Status run_within(Timeout limit, const Plan& plan, const Addresses& addresses, Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  Status s = run_guarded(plan, addresses, launch);
  const auto took = std::chrono::steady_clock::now() - start;
  if (!s.ok() || took <= *limit) return s;
  return {Code::kKernelTimeout,
          cat(plan.function, ": ran ", std::chrono::duration<double>(took).count(), " s, longer than the ",
              std::chrono::duration<double>(*limit).count(), " s of aclrtSetOpExecuteTimeOut")};
}

Status run_on_device(const Plan& plan, const Addresses& addresses, Launch& launch, const FailureReporter& on_failure) {
  const Timeout limit = op_execute_timeout();
  Status s = limit ? run_within(limit, plan, addresses, launch) : run_guarded(plan, addresses, launch);
  if (!s.ok()) on_failure(s);
  return s;
}

// Everything a queued run needs, alive until it has run or was dropped.
struct QueuedRun {
  PlanReference plan;
  Addresses addresses;
  std::byte* workspace;
};

Status check_workspace(const Plan& plan, const void* workspace, uint64_t size) {
  if (plan.workspace > 0 && !workspace)
    return {Code::kNullPointer,
            cat("workspace must satisfy: is not null when phase one asked for ", plan.workspace, " bytes; it is null")};
  if (size < plan.workspace)
    return {Code::kInvalid, cat("workspaceSize must satisfy: is at least the ", plan.workspace,
                                " bytes phase one asked for; it is ", size)};
  return {};
}

Status check_addresses(const Plan& plan) {
  for (const auto& a : plan.addresses)
    if (a.needed && !a.data)
      return {Code::kNullPointer, cat(a.parameter, " must satisfy: has a data address; it has none"),
              "give aclCreateTensor the address of device memory, or set one before phase two"};
  return {};
}

Status submit(PlanReference plan, void* workspace, uint64_t workspace_size, void* stream_handle) {
  if (Status s = check_workspace(*plan, workspace, workspace_size); !s.ok()) return s;
  if (Status s = check_addresses(*plan); !s.ok()) return s;
  const FoundStream found = find_stream(stream_handle);
  if (!found.status.ok())
    return {Code::kRuntime,
            cat("stream: ", found.status.message(), " (", static_cast<int32_t>(found.status.code()), ")"),
            found.status.solution()};
  if (found.object->context->device.backend != plan->backend)
    return {Code::kInvalid,
            cat("executor must satisfy: was planned for the stream's device; it is for ", plan->backend->name()),
            "call both phases with the same device current"};
  if (plan->steps.empty() && !plan->reference) return {};  // nothing to do

  Addresses addresses;
  for (size_t i = 0; i < plan->addresses.size(); ++i) addresses[i] = plan->addresses[i].data;
  Stream& stream = *found.object->stream;
  Launch launch{stream, static_cast<std::byte*>(workspace)};
  const FailureReporter on_failure = found.object->on_failure;
  if (stream.try_run([&] { return run_on_device(*plan, addresses, launch, on_failure); }, plan->bytes)) return {};

  auto queued = std::make_shared<QueuedRun>(QueuedRun{std::move(plan), addresses, launch.workspace});
  // The stream outlives its work's use of it: a backend that queues work itself does not hand it out again.
  Status s = stream.submit([queued, &stream, on_failure] {
    Launch later{stream, queued->workspace};
    return run_on_device(*queued->plan, queued->addresses, later, on_failure);
  });
  if (s.ok()) return s;
  return {Code::kRuntime, s.message(), s.solution()};
}

}  // namespace

int32_t run(const char* function, void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
            void* stream) noexcept {
  try {
    if (!executor) return detail::fail(function, detail::missing("executor"));
    PlanReference plan = PlanReference::use(executor);
    if (!plan)
      return detail::fail(function, {Code::kInvalid,
                                     cat("executor must satisfy: was made by phase one and not used since; it is ",
                                         static_cast<const void*>(executor), ", which is no such executor"),
                                     "call phase one again, or aclSetAclOpExecutorRepeatable before the first run"});
    if (std::strcmp(plan->function, function) != 0)
      return detail::fail(function, {Code::kInvalid, cat("executor must satisfy: was made by ", function,
                                                         "GetWorkspaceSize; it is of ", plan->function)});
    const Status s = submit(std::move(plan), workspace, workspaceSize, stream);
    return s.ok() ? 0 : detail::fail(function, s);
  } catch (...) {
    return detail::fail_with_exception(function);
  }
}

}  // namespace descend
