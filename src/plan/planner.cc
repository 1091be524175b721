// SPDX-License-Identifier: MIT
// Phase one: the parts that do not depend on the operator.
#include "src/plan/planner.h"

#include "src/base/text.h"
#include "src/loops/copy_kernels.h"
#include "src/runtime/context.h"

namespace descend {

int32_t Planner::add_parameter(const char* name, const aclTensor* tensor, bool in_place) {
  if (!tensor) return -1;
  const auto index = static_cast<int32_t>(program_.parameters.size());
  const bool empty = size_of(*tensor) == 0;  // then the offset may be anything
  program_.parameters.push_back({.name = name, .needs_address = false, .in_place = in_place, .view = *tensor});
  const int64_t offset = empty ? 0 : tensor->offset * static_cast<int64_t>(size_of(tensor->dtype));
  known_[known_count_++] = {tensor, {index, offset}, size_of(*tensor)};
  return index;
}

void Planner::add_step(Step::Call call, void (*function)(), const void* args, size_t bytes,
                       const aclTensor* const* tensors, size_t n) {
  if (!status_.ok()) return;
  constexpr size_t kAlign = alignof(std::max_align_t);
  const size_t at = (program_.arguments.size() + kAlign - 1) / kAlign * kAlign;
  program_.arguments.resize(at);
  const auto* from = static_cast<const std::byte*>(args);
  program_.arguments.insert(program_.arguments.end(), from, from + bytes);
  const size_t first = program_.operands.size();
  for (size_t k = 0; k < n; ++k) {
    if (!tensors[k]) {
      program_.operands.push_back({Operand::kAbsent, 0});
      continue;
    }
    // Newest first: a staged copy is known by its own tensor.
    size_t i = known_count_;
    while (i > 0 && known_[i - 1].tensor != tensors[k]) --i;
    if (i == 0) {
      status_ = {Code::kInner, "an operand of a launch is not a parameter of the call"};
      return;
    }
    const auto& [tensor, at, elements] = known_[i - 1];
    program_.operands.push_back(at);
    if (at.address >= 0 && size_of(*tensor) > 0)
      program_.parameters[static_cast<size_t>(at.address)].needs_address = true;
    program_.bytes += static_cast<uint64_t>(elements) * size_of(tensor->dtype);
  }
  if (!kernels_) return;
  program_.steps.push_back(
      {call, function, static_cast<uint32_t>(at), static_cast<uint32_t>(first), static_cast<uint32_t>(n)});
}

void Planner::reads_only(const aclTensor* tensor, int64_t elements) {
  for (size_t i = 0; i < known_count_; ++i) {
    if (known_[i].tensor != tensor) continue;
    known_[i].elements = elements;
    // A staged copy is no parameter: what it was made from is read completely.
    if (const int32_t at = known_[i].at.address; at >= 0) program_.parameters[static_cast<size_t>(at)].most = elements;
  }
}

const aclTensor* Planner::twin(const aclTensor& tensor) {
  made_.push_back(std::make_unique<aclTensor>(tensor));
  return made_.back().get();
}

const aclTensor* Planner::stage(const aclTensor& input) {
  constexpr uint64_t kAlign = 64;
  // A view may have more elements than memory has bytes.
  uint64_t bytes = 0, total = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(size_of(input)), size_of(input.dtype), &bytes) ||
      __builtin_add_overflow(program_.workspace, bytes, &total) || total > INT64_MAX - kAlign) {
    if (status_.ok())
      status_ = {Code::kInvalid,
                 cat("an input must satisfy: is small enough to be copied where an output overlaps it; it is ",
                     describe(input))};
    return &input;
  }
  auto copy = std::make_unique<aclTensor>(input);
  copy->strides = row_major(copy->shape);
  copy->offset = 0;
  copy->data = nullptr;
  const aclTensor* staged = copy.get();
  for (size_t i = 0; i < known_count_; ++i)
    if (known_[i].tensor == &input) program_.parameters[static_cast<size_t>(known_[i].at.address)].staged = true;
  known_[known_count_++] = {staged, {Operand::kWorkspace, static_cast<int64_t>(program_.workspace)}, size_of(*staged)};
  program_.workspace += (bytes + kAlign - 1) / kAlign * kAlign;
  made_.push_back(std::move(copy));
  const std::array<const aclTensor*, 2> tensors{staged, &input};
  launch(kCopy, {.points = iterate<2>(tensors), .item = static_cast<int64_t>(size_of(input.dtype))}, tensors);
  return staged;
}

void Planner::no_kernel(std::string_view name) {
  if (status_.ok()) status_ = {Code::kNoKernel, cat("the device ", program_.backend->name(), " has no kernel ", name)};
}

namespace detail {

int32_t fail(const char* function, const Status& status) noexcept { return report(Layer::kAclnn, function, status); }

int32_t fail_with_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(function, {Code::kNoExecutor, "out of host memory"});
  } catch (const std::exception& e) {
    return fail(function, {Code::kInner, e.what()});
  } catch (...) {
    return fail(function, {Code::kInner, "an unknown exception"});
  }
}

Status no_device() {
  return {Code::kRuntime, "there is no device to plan for", "see DESCEND_DEVICE and ASCEND_RT_VISIBLE_DEVICES"};
}

}  // namespace detail
}  // namespace descend
