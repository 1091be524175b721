// SPDX-License-Identifier: MIT
// Executors are used once, by whoever has them, and hold what they need.
#include <thread>

#include "aclnnop/aclnn_elu_backward.h"
#include "tests/executor/support.h"

namespace descend::test {
namespace {

TEST_F(Executor, runs_once_and_is_recognised_afterwards) {
  plan();
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  expect_doubled();
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 161002);
  expect_text("aclnnElu: executor must satisfy: was made by phase one and not used since");
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 561000);
  expect_text("aclDestroyAclOpExecutor: executor must satisfy");
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor_), 561000);
  EXPECT_EQ(aclSetTensorAddr(executor_, 0, in_.on_device(), nullptr), 161002);
}

TEST_F(Executor, consumed_one_is_recognised_after_many_others) {
  plan();
  aclOpExecutor* consumed = executor_;
  EXPECT_EQ(aclnnElu(nullptr, 0, consumed, nullptr), 0);
  for (int i = 0; i < 5000; ++i) {
    plan();
    ASSERT_NE(executor_, consumed);
    ASSERT_EQ(aclnnElu(nullptr, 0, consumed, nullptr), 161002) << i;
    ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  }
}

// A thread uses the same plan again and again: its handles are others all the same.
TEST_F(Executor, consumed_one_is_recognised_after_hundreds_of_thousands) {
  plan();
  aclOpExecutor* const first = executor_;
  ASSERT_EQ(aclnnElu(nullptr, 0, first, nullptr), 0);
  for (int i = 0; i < 1 << 18; ++i) {
    plan();
    ASSERT_NE(executor_, first) << i;
    ASSERT_GT(reinterpret_cast<intptr_t>(executor_), 0) << i;
    ASSERT_EQ(aclDestroyAclOpExecutor(executor_), 0);
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(first), 561000);
}

TEST_F(Executor, foreign_pointers_are_recognised) {
  int something = 0;
  for (void* foreign : {static_cast<void*>(&something), reinterpret_cast<void*>(8),
                        reinterpret_cast<void*>(~uintptr_t{0}), static_cast<void*>(in_.on_device())}) {
    auto* executor = static_cast<aclOpExecutor*>(foreign);
    EXPECT_EQ(aclnnElu(nullptr, 0, executor, nullptr), 161002);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 561000);
    EXPECT_EQ(aclSetInputTensorAddr(executor, 0, in_.on_device(), nullptr), 161002);
  }
}

TEST_F(Executor, null_executor_has_its_codes) {
  EXPECT_EQ(aclnnElu(nullptr, 0, nullptr, nullptr), 161001);
  expect_text("aclnnElu: executor must satisfy: is not null; it is null");
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), 561103);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), 561103);
  EXPECT_EQ(aclSetTensorAddr(nullptr, 0, in_.on_device(), nullptr), 561103);
}

TEST_F(Executor, of_another_operator_is_refused_and_consumed) {
  plan();
  EXPECT_EQ(aclnnEluBackward(nullptr, 0, executor_, nullptr), 161002);
  expect_text(
      "aclnnEluBackward: executor must satisfy: was made by aclnnEluBackwardGetWorkspaceSize; it is of aclnnElu");
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 161002);
}

TEST_F(Executor, failing_phase_two_consumes_it) {
  plan();
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, reinterpret_cast<void*>(0x1234)), 361001);
  expect_text("aclnnElu: stream");
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 161002);
}

TEST_F(Executor, holds_what_it_needs_when_objects_are_destroyed_before_the_synchronisation) {
  const int64_t shape[] = {2000000};
  void* memory[2];
  for (void*& m : memory) ASSERT_EQ(aclrtMalloc(&m, sizeof(float) * 2000000, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  std::vector<float> values(2000000, 3.0f);
  ASSERT_EQ(aclrtMemcpy(memory[0], sizeof(float) * values.size(), values.data(), sizeof(float) * values.size(),
                        ACL_MEMCPY_HOST_TO_DEVICE),
            0);
  aclTensor* in = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, memory[0]);
  aclTensor* out = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, memory[1]);
  float number = 2;
  aclScalar* two = aclCreateScalar(&number, ACL_FLOAT);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(in, two, two, two, out, &size_, &executor_), 0);
  ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  EXPECT_EQ(aclDestroyTensor(in), 0);
  EXPECT_EQ(aclDestroyTensor(out), 0);
  EXPECT_EQ(aclDestroyScalar(two), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  ASSERT_EQ(aclrtMemcpy(values.data(), sizeof(float) * values.size(), memory[1], sizeof(float) * values.size(),
                        ACL_MEMCPY_DEVICE_TO_HOST),
            0);
  for (float v : values) ASSERT_EQ(v, 6.0f);
  for (void* m : memory) EXPECT_EQ(aclrtFree(m), 0);
}

TEST_F(Executor, phases_may_run_on_different_threads) {
  plan();
  std::thread([&] {
    const OnDevice here;
    EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  }).join();
  expect_doubled();
}

}  // namespace
}  // namespace descend::test
