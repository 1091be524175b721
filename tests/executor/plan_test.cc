// SPDX-License-Identifier: MIT
// What phase one makes of a call, alone and after others, and what it refuses.
#include <array>

#include "tests/executor/support.h"

namespace descend::test {
namespace {

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
  for (const auto& dims : {std::array{INT64_MAX, int64_t{0}}, std::array{int64_t{0}, INT64_MAX}}) {
    const int64_t strides[] = {2, 2};
    empty = aclCreateTensor(dims.data(), 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims.data(), 2, nullptr);
    ASSERT_EQ(aclnnEluGetWorkspaceSize(empty, one_, two_, one_, empty, &size_, &executor_), 0) << recent_error();
    EXPECT_EQ(aclnnElu(nullptr, 0, executor_, nullptr), 0);
    EXPECT_EQ(aclDestroyTensor(empty), 0);
  }
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
