// SPDX-License-Identifier: MIT
// Phase two: an executor meets a stream.
#include <chrono>
#include <cstring>

#include "src/base/text.h"
#include "src/base/thread_end.h"
#include "src/base/usual_floats.h"
#include "src/plan/executor.h"
#include "src/plan/observed.h"
#include "src/plan/planner.h"
#include "src/runtime/context.h"
#include "src/tensor/overlap.h"

namespace descend {
namespace {

Status run_steps(const Program& program, const Addresses& addresses, Launch& launch) {
  if (program.reference) {
    program.reference(addresses.data());
    return {};
  }
  for (const Step& step : program.steps) {
    void* data[kMaxOperands];
    for (uint32_t k = 0; k < step.count; ++k) {
      const Operand& at = program.operands[step.first + k];
      if (at.address == Operand::kAbsent) {
        data[k] = nullptr;
        continue;
      }
      void* base = at.address == Operand::kWorkspace ? launch.workspace : addresses[static_cast<size_t>(at.address)];
      data[k] = static_cast<std::byte*>(base) + at.bytes;
    }
    if (Status s = step.call(step.function, program.arguments.data() + step.arguments, data, launch); !s.ok()) return s;
  }
  return {};
}

// A failure on the device, as the next synchronisation reports it: a runtime code and the operator's name.
Status device_failure(const Program& program, const Status& s) {
  const auto code = static_cast<int32_t>(s.code());
  const bool runtime_code = code / 1000 == 507 || s.code() == Code::kOutOfMemory;
  return {runtime_code ? s.code() : Code::kKernelFailed, cat(program.function, ": ", s.message()), s.solution()};
}

Status run_guarded(const Program& program, const Addresses& addresses, Launch& launch) {
  const UsualFloats here;
  try {
    Status s = run_steps(program, addresses, launch);
    return s.ok() ? s : device_failure(program, s);
  } catch (const std::bad_alloc&) {
    return {Code::kOutOfMemory, cat(program.function, ": out of host memory")};
  } catch (const std::exception& e) {
    return {Code::kInternal, cat(program.function, ": ", e.what())};
  }
}

// Nothing can stop a running kernel, so a limit on its time is judged when it has ended.
[[gnu::cold]] Status run_within(std::chrono::seconds limit, const Program& program, const Addresses& addresses,
                                Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  Status s = run_guarded(program, addresses, launch);
  const auto took = std::chrono::steady_clock::now() - start;
  if (!s.ok() || took <= limit) return s;
  return {Code::kKernelTimeout,
          cat(program.function, ": ran ", std::chrono::duration<double>(took).count(), " s, longer than the ",
              std::chrono::duration<double>(limit).count(), " s of aclrtSetOpExecuteTimeOut")};
}

}  // namespace

Status detail::run_on_device(const Program& program, const Addresses& addresses, Launch& launch) {
  const uint32_t limit = op_execute_seconds.load(std::memory_order_relaxed);
  if (limit != 0) [[unlikely]]
    return run_within(std::chrono::seconds(limit), program, addresses, launch);
  return run_guarded(program, addresses, launch);
}

namespace {

using detail::run_on_device;

// Everything a queued run needs, alive until it has run or was dropped.
struct QueuedRun {
  std::shared_ptr<const Program> program;
  Addresses addresses;  // at the moment of submission: a repeatable executor may get new ones meanwhile
  std::byte* workspace;
};

Status check_workspace(const Program& program, const void* workspace, uint64_t size) {
  if (program.workspace > 0 && !workspace)
    return {Code::kNullPointer, cat("workspace must satisfy: is not null when phase one asked for ", program.workspace,
                                    " bytes; it is null")};
  if (size < program.workspace)
    return {Code::kInvalid, cat("workspaceSize must satisfy: is at least the ", program.workspace,
                                " bytes phase one asked for; it is ", size)};
  return {};
}

Status check_addresses(const Plan& plan) {
  for (size_t i = 0; i < plan.program->parameters.size(); ++i)
    if (plan.program->parameters[i].needs_address && !plan.addresses[i])
      return {Code::kNullPointer,
              cat(plan.program->parameters[i].name, " must satisfy: has a data address; it has none"),
              "give aclCreateTensor the address of device memory, or set one before phase two"};
  return {};
}

// Kernels of a card read whole elements: one address between two would end the card's work for the whole process.
Status check_alignment(const Plan& plan, const void* workspace) {
  const auto is_at = [](const void* address, size_t bytes) {
    return reinterpret_cast<uintptr_t>(address) % bytes == 0;
  };
  for (size_t i = 0; i < plan.program->parameters.size(); ++i) {
    const auto& parameter = plan.program->parameters[i];
    const size_t item = size_of(parameter.view.dtype), bytes = is_complex(parameter.view.dtype) ? item / 2 : item;
    if (!parameter.needs_address || is_at(plan.addresses[i], bytes)) continue;
    return {Code::kInvalid, cat(parameter.name, " must satisfy: its data address is a multiple of its elements' ",
                                bytes, " bytes on this device; it is ", plan.addresses[i])};
  }
  if (plan.program->workspace == 0 || is_at(workspace, sizeof(double))) return {};
  return {Code::kInvalid,
          cat("workspace must satisfy: is a multiple of ", sizeof(double), " bytes on this device; it is ", workspace)};
}

// Phase one has seen to inputs and outputs that overlap where it saw them.  Addresses that were set since may make
// others overlap, for which there is no workspace.
Status check_moved(const Plan& plan) {
  const Program& program = *plan.program;
  const auto at = [&](int32_t i, Extent& extent) {
    aclTensor view = program.parameters[static_cast<size_t>(i)].view;
    view.data = plan.addresses[static_cast<size_t>(i)];
    measure(view, false, extent);
    return view;
  };
  for (const int32_t in : program.inputs)
    for (const int32_t out : program.outputs) {
      if (in < 0 || out < 0 || in == out || program.parameters[static_cast<size_t>(in)].staged) continue;
      Extent read, written;
      const aclTensor input = at(in, read), output = at(out, written);
      const bool in_place = program.parameters[static_cast<size_t>(in)].in_place && same_view(input, output);
      if (in_place || !overlap(input, read, output, written)) continue;
      return {Code::kInvalid,
              cat(program.parameters[static_cast<size_t>(out)].name, " must satisfy: overlaps ",
                  program.parameters[static_cast<size_t>(in)].name,
                  " only as phase one saw it; it is at an address set since then where it overlaps it anew"),
              "plan the call again with the tensors at these addresses"};
    }
  return {};
}

Status submit(const Plan& plan, const aclOpExecutor* handle, void* workspace, uint64_t workspace_size,
              void* stream_handle) {
  const Program& program = *plan.program;
  if (Status s = check_workspace(program, workspace, workspace_size); !s.ok()) return s;
  if (Status s = check_addresses(plan); !s.ok()) return s;
  if (plan.moved.load(std::memory_order_relaxed))
    if (Status s = check_moved(plan); !s.ok()) return s;
  const FoundStream found = find_stream(stream_handle);
  if (!found.status.ok())
    return {Code::kRuntime,
            cat("stream: ", found.status.message(), " (", static_cast<int32_t>(found.status.code()), ")"),
            found.status.solution()};
  if (found.object->context->device.backend != program.backend)
    return {Code::kInvalid,
            cat("executor must satisfy: was planned for the stream's device; it is for ", program.backend->name()),
            "call both phases with the same device current"};
  if (program.on_a_card) [[unlikely]]
    if (Status s = check_alignment(plan, workspace); !s.ok()) return s;
  if (program.steps.empty() && !program.reference) return {};  // nothing to do
  if (observed()) [[unlikely]] {
    const NotCancelled here;
    return detail::submit_observed(plan, handle, static_cast<std::byte*>(workspace), *found.object);
  }

  Stream& stream = *found.object->stream;
  Launch launch{stream, static_cast<std::byte*>(workspace), program.function};
  if (stream.try_run([&] { return run_on_device(program, plan.addresses, launch); }, program.bytes)) return {};

  auto queued = std::make_shared<QueuedRun>(QueuedRun{plan.program, plan.addresses, launch.workspace});
  const NotCancelled here;  // in a synchronous process it waits
  // The stream outlives its work's use of it: a backend that queues work itself does not hand it out again.
  Status s = stream.submit([queued, &stream] {
    Launch later{stream, queued->workspace, queued->program->function};
    return run_on_device(*queued->program, queued->addresses, later);
  });
  if (s.ok()) return s;
  return {Code::kRuntime, s.message(), s.solution()};
}

}  // namespace

int32_t run(const char* function, void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
            void* stream) noexcept {
  const ApiCall call(function);
  try {
    if (!executor) return detail::fail(function, detail::missing("executor"));
    PlanReference plan = PlanReference::use(executor);
    if (observed()) [[unlikely]] {
      const NotCancelled here;
      detail::tell_used(executor, plan ? &*plan : nullptr);
    }
    if (!plan)
      return detail::fail(function, {Code::kInvalid,
                                     cat("executor must satisfy: was made by phase one and not used since; it is ",
                                         static_cast<const void*>(executor), ", which is no such executor"),
                                     "call phase one again, or aclSetAclOpExecutorRepeatable before the first run"});
    if (plan->program->function != function && std::strcmp(plan->program->function, function) != 0)
      return detail::fail(function, {Code::kInvalid, cat("executor must satisfy: was made by ", function,
                                                         "GetWorkspaceSize; it is of ", plan->program->function)});
    const Status s = submit(*plan, executor, workspace, workspaceSize, stream);
    return s.ok() ? 0 : detail::fail(function, s);
  } catch (...) {
    return detail::fail_with_exception(function);
  }
}

}  // namespace descend
