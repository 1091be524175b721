// SPDX-License-Identifier: MIT
// A valid call of each operator, for the tests that are made from the operators' tables.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/plan/catalog.h"
#include "tests/harness/tensor.h"

namespace descend::test {

// Owns what a valid call's parameters point to.
class Sample {
 public:
  const aclTensor* tensor(DataType dtype, Sizes shape, Layout layout = Layout::kContiguous,
                          aclFormat format = ACL_FORMAT_ND) {
    tensors_.push_back(std::make_unique<Tensor>(dtype, std::move(shape), layout, format));
    tensors_.back()->fill({0.5, -0.5});
    tensors_.back()->upload();
    return tensors_.back()->on_device();
  }
  const aclScalar* number(double v, DataType dtype = DataType::kFloat) {
    scalars_.push_back(std::make_unique<Scalar>(v, dtype));
    return *scalars_.back();
  }
  const aclIntArray* ints(const std::vector<int64_t>& values) {
    arrays_.push_back({aclCreateIntArray(values.data(), values.size()), &aclDestroyIntArray});
    return arrays_.back().get();
  }

 private:
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::unique_ptr<Scalar>> scalars_;
  std::vector<std::unique_ptr<aclIntArray, aclnnStatus (*)(const aclIntArray*)>> arrays_;
};

// A copy of the operator's Params behind the pointer, whose objects the sample owns.
using MakeSample = std::function<std::shared_ptr<void>(Sample&)>;
inline std::map<std::string, MakeSample>& samples() {
  static std::map<std::string, MakeSample> all;
  return all;
}

// One line in an operator's test.
template <class Op> bool add_sample(const char* function, typename Op::Params (*make)(Sample&)) {
  return samples()
      .emplace(function,
               [make](Sample& s) -> std::shared_ptr<void> { return std::make_shared<typename Op::Params>(make(s)); })
      .second;
}

}  // namespace descend::test
