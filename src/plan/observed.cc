// SPDX-License-Identifier: MIT
// Phase two while somebody observes: which tensors a run touches, where they really are, and who looks at them.
#include "src/plan/observed.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/runtime/allocations.h"
#include "src/runtime/observed.h"

namespace descend::detail {
namespace {

bool has(const std::vector<int32_t>& list, size_t index) {
  return std::find(list.begin(), list.end(), static_cast<int32_t>(index)) != list.end();
}

std::vector<Use> uses_of(const Program& program, const Addresses& addresses, void* workspace) {
  std::vector<Use> uses;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const auto& parameter = program.parameters[i];
    if (!parameter.needs_address) continue;
    uses.push_back({parameter.name, parameter.view, has(program.inputs, i), has(program.outputs, i), parameter.in_place,
                    parameter.most});
    uses.back().view.data = addresses[i];
  }
  if (program.workspace > 0) {
    aclTensor bytes;
    bytes.dtype = DataType::kUint8;
    bytes.shape = {static_cast<int64_t>(program.workspace)};
    bytes.strides = {1};
    bytes.data = workspace;
    uses.push_back({"workspace", bytes, false, true, true});
  }
  return uses;
}

// What the queue keeps of an observed run.
struct ObservedRun {
  std::shared_ptr<const Program> program;
  Addresses addresses;
  std::byte* workspace;
  Status refused;
  std::vector<std::unique_ptr<Watch>> watches;

  Status run(Stream& stream) const {
    if (!refused.ok()) return refused;
    Launch launch{stream, workspace, program->function};
    for (const auto& watch : watches) watch->before(launch);
    Status status = run_on_device(*program, addresses, launch);
    for (const auto& watch : watches) watch->after(launch);
    return status;
  }
  void over() const {
    for (const auto& watch : watches) watch->over();
  }
};

}  // namespace

void tell_used(const void* executor, const Plan* plan) {
  observe([&](Observer& o) {
    if (plan == nullptr)
      o.missing_executor(executor, true);
    else if (!plan->repeatable.load(std::memory_order_relaxed))
      o.destroyed(ObjectKind::kExecutor, executor);
  });
}

Status submit_observed(const Plan& plan, const void* executor, std::byte* workspace, StreamObject& object) {
  const Program& program = *plan.program;
  const StreamInfo info = info_of(object);
  const std::vector<Use> uses = uses_of(program, plan.addresses, workspace);
  const Work work{.function = program.function, .executor = executor, .uses = uses, .bytes = program.bytes};
  auto run = std::make_shared<ObservedRun>();
  run->program = plan.program;
  observe([&](Observer& o) {
    if (Status s = o.submitting(&info, work); !s.ok() && run->refused.ok()) run->refused = s;
  });
  for (size_t i = 0; i < program.parameters.size(); ++i) run->addresses[i] = real_address(plan.addresses[i]);
  run->workspace = static_cast<std::byte*>(real_address(workspace));
  if (run->refused.ok()) {
    std::vector<Use> real = uses;
    for (Use& use : real) use.view.data = real_address(use.view.data);
    observe([&](Observer& o) {
      if (auto watch = o.watch(info, work, real)) run->watches.push_back(std::move(watch));
    });
  }
  Status status;
  if (!info.stream->try_run([&] { return run->run(*info.stream); }, program.bytes))
    status = info.stream->submit([run, stream = info.stream] { return run->run(*stream); });
  // Where the stream does not take that, its next synchronisation says why.
  if (status.ok() && !run->watches.empty() && !info.device->memory_is_the_hosts())
    (void)info.stream->call_host([run] { run->over(); });
  observe([&](Observer& o) { o.submitted(&info, work); });
  return status.ok() ? status : Status(Code::kRuntime, status.message(), status.solution());
}

}  // namespace descend::detail
