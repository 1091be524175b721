// SPDX-License-Identifier: MIT
// The bodies of both phases: `plan<Op>` checks a call and makes its plan, `run` submits it.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "src/base/report.h"
#include "src/base/thread_end.h"
#include "src/base/usual_floats.h"
#include "src/device/device.h"
#include "src/plan/observed.h"
#include "src/plan/plan.h"
#include "src/plan/recall.h"
#include "src/plan/reference_plan.h"
#include "src/plan/spec.h"
#include "src/runtime/context.h"
#include "src/tensor/overlap.h"

namespace descend {

// Collects the launches of one call.  The first failure sticks and later calls do nothing, so an operator states its
// steps without error handling.
class Planner {
 public:
  // Without kernels the steps are not kept: what is left is which parameters they need.
  Planner(Program& program, const KernelTable* kernels) : program_(program), kernels_(kernels) {}

  // A tensor parameter of the call, in the API's order; null when it is absent.  Answers its number, -1 for none.
  int32_t add_parameter(const char* name, const aclTensor* tensor, bool in_place = true);

  // Adds a launch of `kernel` over `tensors`, each a parameter of the call, what stage() returned, or null.  It takes
  // about as long as a pass over so many bytes; all of the tensors' unless told.
  template <class Args, size_t N>
  void launch(const Kernel<Args>& kernel, const Args& args, const std::array<const aclTensor*, N>& tensors,
              std::optional<uint64_t> bytes = std::nullopt) {
    static_assert(N <= kMaxOperands);
    const auto function = kernels_ ? kernels_->find(kernel) : nullptr;
    if (kernels_ && !function) return no_kernel(kernel.name);
    const Step::Call call = [](void (*f)(), const void* arguments, void* const* data, Launch& launch) {
      return reinterpret_cast<typename Kernel<Args>::Function>(f)(*static_cast<const Args*>(arguments), data, launch);
    };
    const uint64_t before = program_.bytes;
    add_step(call, reinterpret_cast<void (*)()>(function), &args, sizeof args, tensors.data(), N);
    if (bytes && status_.ok()) program_.bytes = before + *bytes;
  }

  // The launches that follow read so many elements of an input and not all: those that the values of another pick.
  void reads_only(const aclTensor* tensor, int64_t elements);

  // A second tensor like the first: operands are known by their tensors, and a caller may pass one for two parameters.
  // Lives as long as the planner.
  const aclTensor* twin(const aclTensor& tensor);

  // A copy of an input, in workspace, for when the output overlaps it.  Lives as long as the planner.
  const aclTensor* stage(const aclTensor& input);

  const Status& status() const { return status_; }

 private:
  struct Known {
    const aclTensor* tensor;
    Operand at;
    int64_t elements;  // that a launch touches, counted as often as it does
  };
  void no_kernel(std::string_view name);
  void add_step(Step::Call call, void (*function)(), const void* args, size_t bytes, const aclTensor* const* tensors,
                size_t n);

  Program& program_;
  const KernelTable* kernels_;
  Status status_;
  Known known_[2 * kMaxTensors];  // every parameter, and a staged copy of each
  size_t known_count_ = 0;
  std::vector<std::unique_ptr<aclTensor>> made_;
};

// A plan being made; gives it back unless published.
class NewPlan {
 public:
  NewPlan() : plan_(new_plan()) {}
  ~NewPlan() {
    if (plan_) give_back(plan_);
  }
  NewPlan(const NewPlan&) = delete;
  NewPlan& operator=(const NewPlan&) = delete;
  explicit operator bool() const { return plan_ != nullptr; }  // false when there is no memory
  Plan* operator->() const { return plan_; }
  aclOpExecutor* publish(const std::shared_ptr<const Program>& program) {
    if (plan_->program != program) plan_->program = program;
    plan_->repeatable.store(false, std::memory_order_relaxed);
    plan_->moved.store(false, std::memory_order_relaxed);
    return static_cast<aclOpExecutor*>(Pool<Plan>::begin_life(std::exchange(plan_, nullptr)));
  }

 private:
  Plan* plan_;
};

namespace detail {

int32_t fail(const char* function, const Status& status) noexcept;
// What an exception in phase one or two means.  Call from a catch block.
int32_t fail_with_exception(const char* function) noexcept;
Status no_device();

// No two parameters of `p` are the same tensor afterwards.
template <class P> void give_each_its_tensor(const Spec<P>& spec, Planner& planner, P& p) {
  std::array<const aclTensor*, kMaxTensors> seen;
  size_t count = 0;
  const auto look = [&](auto field) {
    if (!(p.*field)) return;
    if (std::find(seen.begin(), seen.begin() + count, p.*field) != seen.begin() + count)
      p.*field = planner.twin(*(p.*field));
    seen[count++] = p.*field;
  };
  for (const auto& in : spec.inputs()) look(in.field);
  for (const auto& out : spec.outputs())
    if (!out.is_input) look(out.field);
}

// The program of a call that was checked.
template <class Op> Status make_program(const typename Op::Params& params, const Extents& extents, Program& program) {
  const auto& spec = Op::spec();
  const bool reference = program.backend->runs_reference();
  program.function = spec.function();
  Planner planner(program, reference ? nullptr : &program.backend->kernels());
  auto p = params;
  give_each_its_tensor(spec, planner, p);
  for (const auto& in : spec.inputs())
    program.inputs.push_back(planner.add_parameter(in.name, p.*in.field, in.in_place));
  for (const auto& out : spec.outputs()) {
    size_t k = 0;  // one that is also an input has its address already
    while (k < spec.inputs().size() && spec.inputs()[k].field != out.field) ++k;
    program.outputs.push_back(k < spec.inputs().size() ? program.inputs[k]
                                                       : planner.add_parameter(out.name, p.*out.field));
  }
  if (reference)
    program.reference = reference_of<Op>(params);
  else
    for_each_overlapped_input(spec, params, extents, [&](auto input) { p.*input = planner.stage(*(p.*input)); });
  Op::plan(p, planner);
  return planner.status();
}

// A call like an earlier one of this thread, which needs no check; false when it may be none.
//
// Small calls take as long as this takes.  So nothing is asked for here that the thread does not have at hand, and the
// rest of phase one is another function, for which no registers are saved here.
template <class Op>
bool plan_again(const typename Op::Params& params, uint64_t* workspaceSize, aclOpExecutor** executor) try {
  auto* const memory = RecallOfThread<Op>::get();
  if (!memory || !workspaceSize || !executor || observed()) return false;
  auto* const known = memory->find(params, {environment_address(), planning_backend()});
  if (!known) return false;
  NewPlan made;
  if (!made || !memory->place(params, *known, made->addresses)) return false;
  *workspaceSize = known->program->workspace;
  *executor = made.publish(known->program);
  return true;
} catch (...) {
  return false;
}

template <class Op>
[[gnu::noinline]] int32_t plan_anew(const typename Op::Params& params, uint64_t* workspaceSize,
                                    aclOpExecutor** executor) noexcept {
  const auto& spec = Op::spec();
  const ApiCall call(spec.phase_one());
  const NotCancelled here;
  const UsualFloats floats;
  try {
    if (!workspaceSize) return fail(spec.function(), missing("workspaceSize"));
    if (!executor) return fail(spec.function(), missing("executor"));
    Backend* const backend = planning_backend();
    const Circumstances now{&environment(), backend};
    NewPlan made;
    if (!made) throw std::bad_alloc();
    auto* const memory = recall<Op>();
    auto* const known = memory ? memory->find(params, now) : nullptr;
    if (known && memory->place(params, *known, made->addresses)) {
      *workspaceSize = known->program->workspace;
      *executor = made.publish(known->program);
    } else {
      Extents extents;
      if (Status s = spec.check(params, extents); !s.ok()) {
        if (observed()) tell_refused<Op>(params, s);
        return fail(spec.function(), s);
      }
      if (!backend) return fail(spec.function(), no_device());
      const auto fresh = std::make_shared<Program>();
      fresh->backend = backend;
      fresh->on_a_card = !backend->device(0).memory_is_the_hosts();
      if (Status s = make_program<Op>(params, extents, *fresh); !s.ok()) return fail(spec.function(), s);
      take_addresses(spec, params, made->addresses);
      // Staging depends on the addresses.
      if (memory && !known && fresh->workspace == 0) memory->keep(params, now, extents, fresh);
      *workspaceSize = fresh->workspace;
      *executor = made.publish(fresh);
    }
    if (observed()) [[unlikely]]
      tell_planned<Op>(params, *executor);
    return 0;
  } catch (...) {
    return fail_with_exception(spec.function());
  }
}

}  // namespace detail

// The body of every aclnnXGetWorkspaceSize.
template <class Op>
int32_t plan(const typename Op::Params& params, uint64_t* workspaceSize, aclOpExecutor** executor) noexcept {
  if (detail::plan_again<Op>(params, workspaceSize, executor)) [[likely]]
    return 0;
  return detail::plan_anew<Op>(params, workspaceSize, executor);
}

// The body of every aclnnX.
int32_t run(const char* function, void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
            void* stream) noexcept;

}  // namespace descend
