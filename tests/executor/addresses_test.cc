// SPDX-License-Identifier: MIT
// Executors whose tensors move: repeatable use, and the addresses of their parameters.
#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "tests/executor/support.h"

namespace descend::test {
namespace {

TEST_F(Executor, repeatable_tells_two_parameters_of_one_tensor_apart) {
  Tensor other(DataType::kFloat, {4});
  other.fill({5, 6, 7, 8});
  other.upload();
  ASSERT_EQ(aclnnEluGetWorkspaceSize(in_.on_device(), one_, two_, one_, in_.on_device(), &size_, &executor_), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, in_.on_device(), out_.device_data()), 0);
  ASSERT_EQ(aclnnElu(nullptr, size_, executor_, nullptr), 0);
  expect_doubled();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
}

TEST_F(Executor, needs_no_address_of_a_tensor_that_the_call_does_not_touch) {
  Tensor scores(DataType::kFloat, {1, 2}), target(DataType::kInt64, {1}), loss(DataType::kFloat, {}),
      log_prob(DataType::kFloat, {1, 2});
  scores.fill({0, 0});
  scores.upload();
  target.fill({1});
  target.upload();
  const int64_t shape[] = {1};
  aclTensor* nowhere = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr);
  ASSERT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, scores.on_device(),
                 target.on_device(), static_cast<aclTensor*>(nullptr), static_cast<char*>(nullptr), int64_t{-100}, 0.0,
                 0.0, false, loss.on_device(), log_prob.on_device(), nowhere, nowhere),
            0)
      << recent_error();
  loss.download();
  EXPECT_FLOAT_EQ(static_cast<float>(loss.get(0)), std::log(2.0f));
  EXPECT_EQ(aclDestroyTensor(nowhere), 0);
}

TEST_F(Executor, repeatable_runs_again_at_new_addresses) {
  plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  expect_doubled();

  Tensor other_in(DataType::kFloat, {4}), other_out(DataType::kFloat, {4});
  other_in.fill({5, 6, 7, 8});
  other_in.upload();
  ASSERT_EQ(aclSetInputTensorAddr(executor_, 0, in_.on_device(), other_in.device_data()), 0);
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out_.on_device(), other_out.device_data()), 0);
  ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  other_out.download();
  EXPECT_EQ(other_out.get(3), 16);

  // Inputs are numbered first, then outputs: 1 is the output.
  ASSERT_EQ(aclSetTensorAddr(executor_, 1, out_.on_device(), out_.device_data()), 0);
  ASSERT_EQ(aclSetTensorAddr(executor_, 0, in_.on_device(), in_.device_data()), 0);
  in_.fill({9, 10, 11, 12});
  in_.upload();
  ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  expect_doubled();

  EXPECT_EQ(aclSetTensorAddr(executor_, 2, in_.on_device(), in_.device_data()), 161002);
  expect_text("aclSetTensorAddr: index must satisfy: counts a tensor that phase one of aclnnElu was given; it is 2");
  EXPECT_EQ(aclSetInputTensorAddr(executor_, 1, in_.on_device(), in_.device_data()), 161002);
  EXPECT_EQ(aclSetOutputTensorAddr(executor_, 1, in_.on_device(), in_.device_data()), 161002);
  EXPECT_EQ(aclSetTensorAddr(executor_, 0, nullptr, in_.device_data()), 561103);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 561000);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 161002);
}

TEST_F(Executor, queued_runs_of_a_repeatable_one_keep_their_addresses_and_outlive_it) {
  constexpr int64_t kCount = 1 << 20;  // large enough to be queued
  const int64_t shape[] = {kCount};
  void* in;
  void* outs[3];
  ASSERT_EQ(aclrtMalloc(&in, sizeof(float) * kCount, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  std::vector<float> values(kCount, 1.5f);
  ASSERT_EQ(aclrtMemcpy(in, sizeof(float) * kCount, values.data(), sizeof(float) * kCount, ACL_MEMCPY_HOST_TO_DEVICE),
            0);
  for (void*& out : outs) {
    ASSERT_EQ(aclrtMalloc(&out, sizeof(float) * kCount, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(out, sizeof(float) * kCount, 0, sizeof(float) * kCount), 0);
  }
  aclTensor* from = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, in);
  aclTensor* to = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, outs[0]);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(from, one_, two_, one_, to, &size_, &executor_), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  for (void* out : outs) {
    ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, to, out), 0);
    ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  }
  ASSERT_EQ(aclDestroyAclOpExecutor(executor_), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  for (void* out : outs) {
    ASSERT_EQ(
        aclrtMemcpy(values.data(), sizeof(float) * kCount, out, sizeof(float) * kCount, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    for (float v : values) ASSERT_EQ(v, 3.0f);
    EXPECT_EQ(aclrtFree(out), 0);
  }
  EXPECT_EQ(aclrtFree(in), 0);
  EXPECT_EQ(aclDestroyTensor(from), 0);
  EXPECT_EQ(aclDestroyTensor(to), 0);
}

TEST_F(Executor, repeatable_moved_onto_an_overlap_is_refused) {
  plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out_.on_device(), static_cast<float*>(in_.device_data()) + 1), 0);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 161002);
  expect_text("aclnnElu: out must satisfy: overlaps self only as phase one saw it");
  // In place is no such overlap.
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out_.on_device(), in_.device_data()), 0);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  in_.download();
  EXPECT_EQ(in_.get(3), 8);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
}

TEST_F(Executor, addresses_are_set_for_live_tensors_only) {
  plan();
  aclTensor* gone = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_EQ(aclDestroyTensor(gone), 0);
  EXPECT_EQ(aclSetTensorAddr(executor_, 0, gone, in_.device_data()), 161002);
  EXPECT_EQ(aclSetTensorAddr(executor_, 0, reinterpret_cast<aclTensor*>(0x1234), in_.device_data()), 161002);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
}

TEST_F(Executor, in_place_tensor_is_its_first_input_and_its_first_output) {
  ASSERT_EQ(aclnnInplaceEluGetWorkspaceSize(in_.on_device(), one_, two_, one_, &size_, &executor_), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  Tensor other(DataType::kFloat, {4});
  other.fill({5});
  other.upload();
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, in_.on_device(), other.device_data()), 0);
  ASSERT_EQ(aclnnInplaceElu(nullptr, 0, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  other.download();
  EXPECT_EQ(other.get(0), 10);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
}

TEST_F(Executor, tensor_lists_have_no_addresses_to_set) {
  plan();
  aclTensorList* list = aclCreateTensorList(nullptr, 0);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor_, 0, 0, list, nullptr), 161002);
  EXPECT_EQ(aclSetDynamicInputTensorAddr(executor_, 0, 0, list, nullptr), 161002);
  EXPECT_EQ(aclSetDynamicOutputTensorAddr(executor_, 0, 0, list, nullptr), 161002);
  EXPECT_EQ(aclSetDynamicTensorAddr(nullptr, 0, 0, list, nullptr), 561103);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor_, 0, 0, nullptr, nullptr), 561103);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
}

TEST_F(Executor, tensor_without_an_address_is_refused_in_phase_two) {
  const int64_t shape[] = {4};
  aclTensor* nowhere = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(nowhere, one_, two_, one_, out_.on_device(), &size_, &executor_), 0);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 161001);
  expect_text("aclnnElu: self must satisfy: has a data address");
  // Set later, it is one like any other.
  ASSERT_EQ(aclnnEluGetWorkspaceSize(nowhere, one_, two_, one_, out_.on_device(), &size_, &executor_), 0);
  ASSERT_EQ(aclSetInputTensorAddr(executor_, 0, nowhere, static_cast<float*>(in_.device_data()) + 16), 0);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  expect_doubled();
  EXPECT_EQ(aclDestroyTensor(nowhere), 0);
}

}  // namespace
}  // namespace descend::test
