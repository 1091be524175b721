// SPDX-License-Identifier: MIT
// What the tests of executors share: a call that doubles.
#pragma once
#include <gtest/gtest.h>

#include "aclnnop/aclnn_elu.h"
#include "tests/harness/call.h"
#include "tests/harness/tensor.h"

namespace descend::test {

class Executor : public testing::Test {
 protected:
  OnDevice on_device_;
  Tensor in_{DataType::kFloat, {4}}, out_{DataType::kFloat, {4}};
  Scalar one_{1}, two_{2};
  uint64_t size_ = 99;
  aclOpExecutor* executor_ = nullptr;

  void SetUp() override {
    in_.fill({1, 2, 3, 4});
    in_.upload();
    out_.upload();
  }
  // Phase one of out = 2 in, for positive numbers.
  void plan() {
    ASSERT_EQ(aclnnEluGetWorkspaceSize(in_.on_device(), one_, two_, one_, out_.on_device(), &size_, &executor_), 0);
    ASSERT_EQ(size_, 0u);
  }
  void expect_doubled() {
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
    out_.download();
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(out_.get(i), 2 * in_.get(i));
  }
  static void expect_text(const std::string& part) {
    const std::string text = recent_error();
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

}  // namespace descend::test
