// SPDX-License-Identifier: MIT
// What an operator's *_bench.cc states: calls to time, with the memory that each must move.  Its *_torch.cc says how
// PyTorch computes the same from the same memory.
//
//   [[maybe_unused]] const bool added = add_cases([](Grid& grid) {
//     for (int64_t n : grid.line_sizes())
//       grid.add("aclnnElu", label(ACL_FLOAT, {n}), [=](Call& call) {
//         aclTensor* self = call.reads("self", {.shape = {n}});
//         aclTensor* out = call.writes("out", {.shape = {n}});
//         aclScalar* one = call.scalar("alpha", 1);
//         call.runs([=](uint64_t* size, aclOpExecutor** executor) {
//           return aclnnEluGetWorkspaceSize(self, one, one, one, out, size, executor);
//         }, aclnnElu);
//       });
//   });
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/tensor.h"

namespace descend::bench {

using PhaseOne = std::function<int32_t(uint64_t* workspaceSize, aclOpExecutor** executor)>;
using PhaseTwo = int32_t (*)(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);

// One call and everything it needs, by the API's names.
class Call {
 public:
  Call() = default;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  aclTensor* reads(const std::string& name, const TensorSpec& spec);
  aclTensor* writes(const std::string& name, const TensorSpec& spec);
  aclTensor* ignores(const std::string& name, const TensorSpec& spec);  // there, and neither read nor written
  // One of which `bytes` must be read, not all.
  aclTensor* reads_some(const std::string& name, const TensorSpec& spec, uint64_t bytes);
  aclScalar* scalar(const std::string& name, float value);
  aclIntArray* ints(const std::string& name, const Sizes& values);
  void number(const std::string& name, double value) { numbers_[name] = value; }
  void runs(PhaseOne one, PhaseTwo two) { one_ = std::move(one), two_ = two; }

  const Tensor& tensor(const std::string& name) const { return *tensors_.at(name); }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  double number(const std::string& name) const { return numbers_.at(name); }
  const Sizes& ints(const std::string& name) const { return int_values_.at(name); }
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_written() const { return bytes_written_; }

  int32_t phase_one(uint64_t* workspaceSize, aclOpExecutor** executor) const { return one_(workspaceSize, executor); }
  // Both phases; asks for no wait.
  void run(aclrtStream stream);

 private:
  std::map<std::string, std::unique_ptr<Tensor>> tensors_;
  std::map<std::string, double> numbers_;
  std::map<std::string, Sizes> int_values_;
  std::vector<aclScalar*> scalars_;
  std::vector<aclIntArray*> arrays_;
  uint64_t bytes_read_ = 0, bytes_written_ = 0;
  PhaseOne one_;
  PhaseTwo two_ = nullptr;
  void* workspace_ = nullptr;
  uint64_t workspace_size_ = 0;
};

struct Case {
  std::string function, label;
  std::function<void(Call&)> prepare;
};

class Grid {
 public:
  explicit Grid(bool quick) : quick_(quick) {}
  void add(std::string function, std::string label, std::function<void(Call&)> prepare) {
    cases_.push_back({std::move(function), std::move(label), std::move(prepare)});
  }
  bool quick() const { return quick_; }
  // From the smallest call to well past the last-level cache, in elements.
  Sizes line_sizes() const {
    if (quick_) return {16, 1 << 16, 1 << 24};
    return {16, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 24, 1 << 26};
  }
  const std::vector<Case>& cases() const { return cases_; }

 private:
  bool quick_;
  std::vector<Case> cases_;
};

std::string name(aclDataType dtype);
// "BF16 8x21x512x512", with what the operator adds.
std::string label(aclDataType dtype, const Sizes& shape, const std::string& more = "");

bool add_cases(void (*add)(Grid& grid));
Grid all_cases(bool quick);

// Makes a function that computes with PyTorch, into the same output, what the call does.
using MakePeer = std::function<std::function<void()>(const Call& call)>;
bool add_peer(const std::string& function, MakePeer make);
// Empty when there is none.
std::function<void()> peer_of(const std::string& function, const Call& call);

}  // namespace descend::bench
