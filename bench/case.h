// SPDX-License-Identifier: MIT
// What an operator's *_bench.cc states: calls to time, with the memory that each must move.  Its *_torch.cc
// and *_onednn.cc say how others compute the same from the same memory.
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
#include <utility>
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
  aclTensor* updates(const std::string& name, const TensorSpec& spec);  // reads, and writes in the same place
  aclTensor* ignores(const std::string& name, const TensorSpec& spec);  // there, and neither read nor written
  // Reads of it what the labels pick; see bytes_picked.
  aclTensor* picks(const std::string& name, const TensorSpec& spec, const std::string& labels);
  aclScalar* scalar(const std::string& name, float value);
  aclIntArray* ints(const std::string& name, const Sizes& values);
  void number(const std::string& name, double value) { numbers_[name] = value; }
  void runs(PhaseOne one, PhaseTwo two) { one_ = std::move(one), two_ = two; }

  const Tensor& tensor(const std::string& name) const { return *tensors_.at(name); }
  double number(const std::string& name) const { return numbers_.at(name); }
  const Sizes& ints(const std::string& name) const { return int_values_.at(name); }
  const std::vector<std::string>& outputs() const { return outputs_; }
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_written() const { return bytes_written_; }
  // The first of its tensors' layouts that is not contiguous; NDHWC is channels-last.
  Layout layout() const;

  int32_t phase_one(uint64_t* workspaceSize, aclOpExecutor** executor) const { return one_(workspaceSize, executor); }
  // Both phases; asks for no wait.
  void run(aclrtStream stream);

 private:
  std::map<std::string, std::unique_ptr<Tensor>> tensors_;
  std::vector<std::string> outputs_;
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
  // Views of 2^24 elements that are not contiguous, for an elementwise input.
  std::vector<std::pair<Sizes, Layout>> views() const {
    return {{{4096, 4096}, Layout::kTransposed},
            {{64, 1 << 18}, Layout::kRepeated},
            {{16, 64, 128, 128}, Layout::kChannelsLast}};
  }
  const std::vector<Case>& cases() const { return cases_; }

 private:
  bool quick_;
  std::vector<Case> cases_;
};

std::string name(aclDataType dtype);
// "BF16 8x21x512x512", with what the operator adds.
std::string label(aclDataType dtype, const Sizes& shape, const std::string& more = "");
// ", transposed"; nothing for contiguous ones.
std::string suffix(Layout layout);

bool add_cases(void (*add)(Grid& grid));
Grid all_cases(bool quick);

}  // namespace descend::bench
