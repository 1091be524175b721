// SPDX-License-Identifier: MIT
// Executors: snapshot in phase one, single use, repeatable use, and everything a caller can do wrong with one.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "tests/harness/call.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

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

// One tensor for two parameters: calls that look alike later must not be taken for it.
TEST_F(Executor, of_a_call_in_place_is_not_that_of_one_out_of_place) {
  Tensor both(DataType::kFloat, {4});
  both.fill({1, 2, 3, 4});
  both.upload();
  ASSERT_EQ(aclnnEluGetWorkspaceSize(both.on_device(), one_, two_, one_, both.on_device(), &size_, &executor_), 0);
  ASSERT_EQ(aclnnElu(nullptr, size_, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  both.download();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(both.get(i), 2.0 * static_cast<double>(i + 1));
  plan();
  ASSERT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  expect_doubled();
}

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

TEST_F(Executor, same_memory_by_another_offset_is_in_place) {
  const int64_t shape[] = {4};
  auto* data = static_cast<float*>(in_.device_data());
  aclTensor* here = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, shape, 1, data);
  aclTensor* too = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, data + 16);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(here, one_, two_, one_, too, &size_, &executor_), 0);
  EXPECT_EQ(size_, 0u);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  EXPECT_EQ(aclDestroyTensor(here), 0);
  EXPECT_EQ(aclDestroyTensor(too), 0);
}

TEST_F(Executor, empty_views_may_have_any_other_dimension_and_offset) {
  const int64_t shape[] = {int64_t{1} << 40, int64_t{1} << 40, 0};
  aclTensor* empty = aclCreateTensor(shape, 3, ACL_FLOAT, nullptr, INT64_MAX, ACL_FORMAT_ND, shape, 3, nullptr);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(empty, one_, two_, one_, empty, &size_, &executor_), 0) << recent_error();
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  EXPECT_EQ(aclDestroyTensor(empty), 0);
}

TEST_F(Executor, many_calls_in_turn_keep_their_own_programs) {
  std::vector<std::unique_ptr<Tensor>> in, out;
  for (int64_t n = 1; n <= 40; ++n) {
    in.push_back(std::make_unique<Tensor>(DataType::kFloat, Sizes{n}));
    out.push_back(std::make_unique<Tensor>(DataType::kFloat, Sizes{n}));
    in.back()->fill({static_cast<double>(n)});
    in.back()->upload();
    out.back()->upload();
  }
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(
          call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, in[i]->on_device(), static_cast<const aclScalar*>(one_),
               static_cast<const aclScalar*>(two_), static_cast<const aclScalar*>(one_), out[i]->on_device()),
          0);
      out[i]->download();
      ASSERT_TRUE(out[i]->untouched_outside());
      ASSERT_EQ(out[i]->get(out[i]->size() - 1), 2 * static_cast<double>(i + 1));
    }
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

TEST_F(Executor, workspace_that_is_missing_or_too_small_is_refused) {
  // An output that overlaps its input in part asks for workspace.
  const int64_t shape[] = {3};
  void* data;
  ASSERT_EQ(aclGetRawTensorAddr(in_.on_device(), &data), 0);
  aclTensor* self = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, shape, 1, data);
  aclTensor* out = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 17, ACL_FORMAT_ND, shape, 1, data);
  const auto plan_again = [&] {
    EXPECT_EQ(aclnnEluGetWorkspaceSize(self, one_, two_, one_, out, &size_, &executor_), 0);
    EXPECT_GT(size_, 0u);
  };
  plan_again();
  EXPECT_EQ(aclnnElu(nullptr, size_, executor_, nullptr), 161001);
  expect_text("aclnnElu: workspace must satisfy: is not null when phase one asked for");
  void* workspace;
  ASSERT_EQ(aclrtMalloc(&workspace, size_, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  plan_again();
  EXPECT_EQ(aclnnElu(workspace, size_ - 1, executor_, nullptr), 161002);
  expect_text("aclnnElu: workspaceSize must satisfy: is at least the");
  plan_again();
  EXPECT_EQ(aclnnElu(workspace, size_, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(aclrtFree(workspace), 0);
  in_.download();
  EXPECT_EQ(in_.get(3), 6);
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyTensor(out), 0);
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

TEST_F(Executor, empty_tensors_need_no_address_and_launch_nothing) {
  const int64_t shape[] = {0, 3};
  aclTensor* empty = aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, nullptr);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(empty, one_, two_, one_, empty, &size_, &executor_), 0);
  EXPECT_EQ(size_, 0u);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  EXPECT_EQ(aclDestroyTensor(empty), 0);
}

TEST_F(Executor, destroyed_parameters_are_recognised_in_phase_one) {
  const int64_t shape[] = {4};
  aclTensor* gone = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr);
  ASSERT_EQ(aclDestroyTensor(gone), 0);
  EXPECT_EQ(aclnnEluGetWorkspaceSize(gone, one_, two_, one_, out_.on_device(), &size_, &executor_), 161002);
  expect_text("aclnnElu: self must satisfy: is an object that was created and not destroyed");
  auto* foreign = reinterpret_cast<aclScalar*>(0x50);
  EXPECT_EQ(aclnnEluGetWorkspaceSize(in_.on_device(), foreign, two_, one_, out_.on_device(), &size_, &executor_),
            161002);
  expect_text("aclnnElu: alpha must satisfy: is an object that was created and not destroyed");
}

TEST_F(Executor, call_like_an_earlier_one_runs_at_its_own_addresses) {
  plan();
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  expect_doubled();
  Tensor other_in(DataType::kFloat, {4}), other_out(DataType::kFloat, {4});
  other_in.fill({5});
  other_in.upload();
  ASSERT_EQ(aclnnEluGetWorkspaceSize(other_in.on_device(), one_, two_, one_, other_out.on_device(), &size_, &executor_),
            0);
  EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  other_out.download();
  EXPECT_EQ(other_out.get(0), 10);
}

TEST_F(Executor, call_like_an_earlier_one_is_checked_where_it_differs) {
  plan();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
  const auto again = [&](const aclScalar* scale, aclTensor* out) {
    const int status = aclnnEluGetWorkspaceSize(in_.on_device(), one_, scale, one_, out, &size_, &executor_);
    if (status == 0) {
      EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
      out_.download();
    }
    return status;
  };
  const Scalar three(3);
  EXPECT_EQ(again(three, out_.on_device()), 0);
  EXPECT_EQ(out_.get(0), 3);
  EXPECT_EQ(again(two_, out_.on_device()), 0);
  EXPECT_EQ(out_.get(0), 2);
  // The same objects, described anew or destroyed.
  float number = 2;
  aclScalar* gone = aclCreateScalar(&number, ACL_FLOAT);
  EXPECT_EQ(again(gone, out_.on_device()), 0);
  EXPECT_EQ(aclDestroyScalar(gone), 0);
  EXPECT_EQ(again(gone, out_.on_device()), 161002);
  const int64_t shape[] = {5};
  aclTensor* out = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, out_.device_data());
  EXPECT_EQ(again(two_, out), 161002);
  const int64_t right[] = {4};
  ASSERT_EQ(aclInitTensor(out, right, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, right, 1, nullptr), 0);
  EXPECT_EQ(again(two_, out), 0);
  EXPECT_EQ(size_, 0u);
  ASSERT_EQ(aclInitTensor(out, shape, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, shape, 1, nullptr), 0);
  EXPECT_EQ(again(two_, out), 161002);
  ASSERT_EQ(aclInitTensor(out, right, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, right, 1, nullptr), 0);
  EXPECT_EQ(again(two_, nullptr), 161001);
  // The same views, now overlapping.
  ASSERT_EQ(aclSetRawTensorAddr(out, static_cast<float*>(in_.device_data()) + 1), 0);
  ASSERT_EQ(aclnnEluGetWorkspaceSize(in_.on_device(), one_, two_, one_, out, &size_, &executor_), 0);
  EXPECT_GT(size_, 0u);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
  EXPECT_EQ(aclDestroyTensor(out), 0);
}

TEST_F(Executor, shapes_strides_and_offsets_that_cannot_be_are_refused) {
  const int64_t huge = int64_t{1} << 62;
  const auto refused = [&](std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset, const char* why) {
    aclTensor* t = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), offset, ACL_FORMAT_ND,
                                   shape.data(), shape.size(), in_.device_data());
    EXPECT_EQ(aclnnEluGetWorkspaceSize(t, one_, two_, one_, t, &size_, &executor_), 161002) << why;
    expect_text(why);
    EXPECT_EQ(aclDestroyTensor(t), 0);
  };
  refused({-1}, {1}, 0, "self must satisfy: has dimensions that are not negative");
  refused({huge, 8}, {8, 1}, 0,
          "self must satisfy: has dimensions that are not negative and whose product fits in int64");
  refused({4}, {huge}, 0, "self must satisfy: has strides and an offset that stay in the address space");
  refused({2, 2}, {huge, huge}, 0, "self must satisfy: has strides and an offset that stay in the address space");
  refused({2}, {1}, huge, "self must satisfy: has strides and an offset that stay in the address space");
  refused({2, 3}, {0, 1}, 0, "out must satisfy: is a view whose elements do not share memory");
  refused({3, 3}, {2, 1}, 0, "out must satisfy: is a view whose elements do not share memory");
}

}  // namespace
}  // namespace descend::test
