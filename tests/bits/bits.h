// SPDX-License-Identifier: MIT
// What an operator's *_bits.cc states: calls whose results never change by a bit, on any device that has kernels, on
// any SIMD target and for any number of threads.
//
// A case is a name and the ways to get its results.  The ways differ in what must not matter, such as layouts.  The
// digest of the results stands under the name in the *_bits.txt beside.
//
//   [[maybe_unused]] const bool added = add_bits("elu", [](Bits& bits) {
//     for (const Way& way : all_ways())
//       bits.add("aclnnElu FLOAT [67,129]", way.words(), [=](BitCall& call) {
//         const aclTensor* self = call.in(DataType::kFloat, {67, 129}, mixed_values(DataType::kFloat, 1), way.in);
//         aclTensor* out = call.out(DataType::kFloat, {67, 129}, way.out);
//         const aclScalar* one = call.number(1);
//         call.run(aclnnEluGetWorkspaceSize, aclnnElu, self, one, one, one, out);
//       });
//   });
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/text.h"
#include "src/plan/plan.h"
#include "tests/bits/allocations.h"
#include "tests/harness/call.h"
#include "tests/harness/tensor.h"

namespace descend::test {

// Numbers of many magnitudes; zeros and subnormal numbers among them, and neither infinities nor NaNs.
std::vector<double> finite_values(DataType dtype, uint64_t seed);
// Such numbers, and about one in `distance` a landmark of the dtype or the test's own.
std::vector<double> mixed_values(DataType dtype, uint64_t seed, const std::vector<double>& own = {},
                                 uint64_t distance = 4);

// How the inputs and the outputs of a call lie in memory.
struct Way {
  Layout in = Layout::kContiguous, out = Layout::kContiguous;
  std::string words() const { return name(in) + " to " + name(out); }
};
// Every layout on either side and on both, but for broadcasting, which changes values.
std::vector<Way> all_ways();

// "FLOAT [67,129]"
std::string label(DataType dtype, const Sizes& shape);

// Calls and the digest of what they write.
class BitCall {
 public:
  // Twice: each call is made once more, which must not allocate anything larger than an executor and its program.
  BitCall(bool twice, Ends tensors) : twice_(twice), ends_(tensors) {}
  BitCall(const BitCall&) = delete;
  BitCall& operator=(const BitCall&) = delete;

  // Element i, in logical order, is values[i % n].
  aclTensor* in(DataType dtype, Sizes shape, const std::vector<double>& values, Layout layout = Layout::kContiguous,
                aclFormat format = ACL_FORMAT_ND);
  // Classes, and among them `ignored` and numbers that are none, the same classes for every dtype that has them.
  aclTensor* labels(DataType dtype, Sizes shape, int64_t classes, int64_t ignored, Layout layout = Layout::kContiguous);
  aclTensor* out(DataType dtype, Sizes shape, Layout layout = Layout::kContiguous, aclFormat format = ACL_FORMAT_ND);
  aclTensor* in_out(DataType dtype, Sizes shape, const std::vector<double>& values,
                    Layout layout = Layout::kContiguous);
  const aclScalar* number(double value, DataType dtype = DataType::kFloat);
  const aclIntArray* ints(const Sizes& values);

  // Runs both phases, digests the outputs and destroys what was made for the call.  Another may follow.
  template <class PhaseOne, class... Arguments>
  void run(PhaseOne phase_one, PhaseTwo phase_two, const Arguments&... arguments) {
    const auto run_once = [&] {
      uint64_t workspace = 0;
      must(call(phase_one, phase_two, &workspace, arguments...), "the operator");
      if (workspace != 0) throw std::runtime_error("the operator asks for workspace");
    };
    run_once();
    (digest_output(arguments), ...);
    if (twice_) expect_no_allocation(run_once);
    clear();
  }

  uint64_t digest() const { return digest_; }

 private:
  // Some tries, because a thread of oneTBB that takes part in a loop for the first time allocates what it keeps.
  static void expect_no_allocation(const auto& run_once) {
    size_t allocated = 0;
    for (int tries = 0; tries < 8; ++tries) {
      const LargestAllocation largest;
      run_once();
      allocated = largest.bytes();
      if (allocated <= sizeof(aclOpExecutor) + sizeof(Program)) return;
    }
    throw std::runtime_error(cat("a call that was made before allocates ", allocated, " bytes"));
  }
  Tensor& add(DataType dtype, Sizes shape, Layout layout, aclFormat format);
  // In the order of the operator's parameters: compilers make the arguments of a call in any order.
  template <class Argument> void digest_output(const Argument& argument) {
    if constexpr (std::is_convertible_v<Argument, const aclTensor*>)
      for (Tensor* tensor : outputs_)
        if (tensor->on_device() == argument) digest(*tensor);
  }
  void digest(Tensor& tensor);
  void clear();

  const bool twice_;
  const Ends ends_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<Tensor*> outputs_;
  std::vector<std::unique_ptr<Scalar>> scalars_;
  std::vector<std::unique_ptr<aclIntArray, aclnnStatus (*)(const aclIntArray*)>> arrays_;
  uint64_t digest_ = 0xcbf29ce484222325;  // FNV-1a
};

struct BitCase {
  std::string name, way;
  std::function<void(BitCall&)> call;
};

class Bits {
 public:
  void add(std::string name, std::string way, std::function<void(BitCall&)> call) {
    cases_.push_back({std::move(name), std::move(way), std::move(call)});
  }
  const std::vector<BitCase>& cases() const { return cases_; }

 private:
  std::vector<BitCase> cases_;
};

// One line in ops/<folder>/<folder>_bits.cc.
bool add_bits(const std::string& folder, void (*add)(Bits& bits));
// The cases of all operators, by folder.
std::map<std::string, Bits> all_bits();

}  // namespace descend::test
