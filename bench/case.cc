// SPDX-License-Identifier: MIT
// Calls, and the list of cases.
#include "bench/case.h"

namespace descend::bench {
namespace {

std::vector<void (*)(Grid&)>& adders() {
  static auto& all = *new std::vector<void (*)(Grid&)>;
  return all;
}

}  // namespace

Call::~Call() {
  for (aclScalar* scalar : scalars_) aclDestroyScalar(scalar);
  for (aclIntArray* array : arrays_) aclDestroyIntArray(array);
  if (workspace_) aclrtFree(workspace_);
}

aclTensor* Call::ignores(const std::string& name, const TensorSpec& spec) {
  const auto seed = static_cast<unsigned>(tensors_.size() + 1);
  return *(tensors_[name] = std::make_unique<Tensor>(spec, seed));
}
aclTensor* Call::reads(const std::string& name, const TensorSpec& spec) {
  aclTensor* tensor = ignores(name, spec);
  bytes_read_ += tensors_[name]->bytes();
  return tensor;
}
aclTensor* Call::picks(const std::string& name, const TensorSpec& spec, const std::string& labels) {
  aclTensor* tensor = ignores(name, spec);
  bytes_read_ += bytes_picked(*tensors_[name], *tensors_.at(labels));
  return tensor;
}
aclTensor* Call::writes(const std::string& name, const TensorSpec& spec) {
  aclTensor* tensor = ignores(name, spec);
  bytes_written_ += tensors_[name]->bytes();
  outputs_.push_back(name);
  return tensor;
}
aclTensor* Call::updates(const std::string& name, const TensorSpec& spec) {
  aclTensor* tensor = writes(name, spec);
  bytes_read_ += tensors_[name]->bytes();
  return tensor;
}
aclScalar* Call::scalar(const std::string& name, float value) {
  number(name, value);
  scalars_.push_back(aclCreateScalar(&value, ACL_FLOAT));
  return scalars_.back();
}
aclIntArray* Call::ints(const std::string& name, const Sizes& values) {
  int_values_[name] = values;
  arrays_.push_back(aclCreateIntArray(values.data(), values.size()));
  return arrays_.back();
}

Layout Call::layout() const {
  for (const auto& [name, tensor] : tensors_) {
    if (tensor->spec().layout != Layout::kContiguous) return tensor->spec().layout;
    if (tensor->spec().format == ACL_FORMAT_NDHWC) return Layout::kChannelsLast;
  }
  return Layout::kContiguous;
}

void Call::run(aclrtStream stream) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  must(one_(&size, &executor), "phase one");
  if (size > workspace_size_) {
    must(aclrtMalloc(&workspace_, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    workspace_size_ = size;
  }
  must(two_(workspace_, size, executor, stream), "phase two");
}

std::string name(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return "FLOAT";
    case ACL_FLOAT16:
      return "FLOAT16";
    case ACL_BF16:
      return "BF16";
    default:
      return "DOUBLE";
  }
}

std::string label(aclDataType dtype, const Sizes& shape, const std::string& more) {
  std::string text = name(dtype) + " ";
  for (size_t i = 0; i < shape.size(); ++i) text.append(i ? "x" : "").append(std::to_string(shape[i]));
  return more.empty() ? text : text + " " + more;
}

std::string suffix(Layout layout) {
  return layout == Layout::kContiguous ? "" : std::string(", ").append(name(layout));
}

bool add_cases(void (*add)(Grid& grid)) {
  adders().push_back(add);
  return true;
}
Grid all_cases(bool quick) {
  Grid grid(quick);
  for (const auto add : adders()) add(grid);
  return grid;
}

}  // namespace descend::bench
