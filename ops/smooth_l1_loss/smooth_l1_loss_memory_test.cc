// SPDX-License-Identifier: MIT
// Where the tensors of the smooth L1 loss may lie: far apart, in place, over each other.
#include "ops/smooth_l1_loss/smooth_l1_loss_test.h"

namespace descend::test::smooth_l1_loss {
namespace {

TEST_F(SmoothL1LossOperators, views_reach_beyond_2_to_the_31_elements) {
  constexpr int64_t kFar = (int64_t{1} << 31) + 7;
  void* memory = nullptr;  // touched at its ends only
  ASSERT_EQ(aclrtMalloc(&memory, (kFar + 8) * sizeof(float16), ACL_MEM_MALLOC_HUGE_FIRST), 0);
  const int64_t shape[] = {2}, strides[] = {kFar};
  aclTensor* far = aclCreateTensor(shape, 1, ACL_FLOAT16, strides, 3, ACL_FORMAT_ND, shape, 1, memory);
  Tensor near(DataType::kFloat16, {2}), one(DataType::kFloat16, {}), loss(DataType::kFloat16, {});
  near.fill({0.5, 4});
  one.fill({2});
  near.upload();
  one.upload();
  const float16 values[] = {float16::from(0.25f), float16::from(1.0f)};
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(aclrtMemcpy(static_cast<float16*>(memory) + 3 + i * kFar, 2, &values[i], 2, ACL_MEMCPY_HOST_TO_DEVICE),
              0);
  ASSERT_EQ(call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, far, near.on_device(), int64_t{2}, 1.0f,
                 loss.on_device()),
            0)
      << recent_error();
  loss.download();
  EXPECT_EQ(loss.get(0), 0.03125 + 2.5);
  ASSERT_EQ(call(aclnnSmoothL1LossBackwardGetWorkspaceSize, aclnnSmoothL1LossBackward, nullptr, one.on_device(), far,
                 near.on_device(), int64_t{2}, 1.0f, far),
            0)
      << recent_error();
  float16 result[2];
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(aclrtMemcpy(&result[i], 2, static_cast<float16*>(memory) + 3 + i * kFar, 2, ACL_MEMCPY_DEVICE_TO_HOST),
              0);
  EXPECT_EQ(float{result[0]}, -0.5f);
  EXPECT_EQ(float{result[1]}, -2.0f);
  EXPECT_EQ(aclDestroyTensor(far), 0);
  EXPECT_EQ(aclrtFree(memory), 0);
}

TEST_F(SmoothL1LossOperators, strides_that_leave_the_address_space_fail) {
  Tensor target(DataType::kFloat, {2}), loss(DataType::kFloat, {});
  const int64_t shape[] = {2};
  for (const int64_t stride : {INT64_MAX, INT64_MIN, INT64_MAX / 4}) {
    aclTensor* far = aclCreateTensor(shape, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, shape, 1, target.device_data());
    EXPECT_EQ(call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, far, target.on_device(), int64_t{1},
                   1.0f, loss.on_device()),
              161002)
        << stride;
    EXPECT_EQ(aclDestroyTensor(far), 0);
  }
}

TEST_F(SmoothL1LossOperators, an_input_too_large_to_be_copied_may_not_overlap_the_output) {
  Tensor one(DataType::kFloat, {});
  for (const int64_t count : {int64_t{1} << 62, (int64_t{1} << 62) + 16}) {
    const int64_t zero = 0;
    aclTensor* wide = aclCreateTensor(&count, 1, ACL_FLOAT, &zero, 0, ACL_FORMAT_ND, &count, 1, one.device_data());
    aclTensor* result = aclCreateTensor(&zero, 0, ACL_FLOAT, &zero, 0, ACL_FORMAT_ND, &zero, 0, one.device_data());
    EXPECT_EQ(call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, wide, wide, int64_t{2}, 1.0f, result),
              161002)
        << recent_error();
    EXPECT_EQ(aclDestroyTensor(wide), 0);
    EXPECT_EQ(aclDestroyTensor(result), 0);
  }
}

TEST_F(SmoothL1LossOperators, gradient_may_be_written_over_any_input) {
  for (int over : {0, 1, 2}) {
    Tensor gradOut(DataType::kFloat, {1000}), self(DataType::kFloat, {1000}), target(DataType::kFloat, {1000}),
        out(DataType::kFloat, {1000});
    gradOut.fill(numbers(DataType::kFloat, 53, 1));
    self.fill(numbers(DataType::kFloat, 61, 2));
    target.fill(numbers(DataType::kFloat, 47, 3));
    for (Tensor* t : {&gradOut, &self, &target}) t->upload();
    Tensor& written = over == 0 ? gradOut : over == 1 ? self : target;
    uint64_t workspace = 1;
    ASSERT_EQ(backward(gradOut, self, target, 0, 1, out), 0);
    ASSERT_EQ(backward(gradOut, self, target, 0, 1, written, &workspace), 0);
    EXPECT_EQ(workspace, 0u);
    out.download();
    written.download();
    for (int64_t i = 0; i < out.size(); ++i)
      if (!std::isnan(out.get(i))) {
        ASSERT_EQ(written.bits(i), out.bits(i)) << i;
      }
  }
}

TEST_F(SmoothL1LossOperators, gradient_over_a_broadcast_input_reads_it_first) {
  // self is the first row of gradInput: every row needs it, and the first is written early.
  Tensor memory(DataType::kFloat, {300, 200}), separate(DataType::kFloat, {300, 200}),
      target(DataType::kFloat, {300, 1}), gradOut(DataType::kFloat, {});
  memory.fill(numbers(DataType::kFloat, 61, 2));
  target.fill({0.25});
  gradOut.fill({1});
  for (Tensor* t : {&memory, &target, &gradOut}) t->upload();
  const int64_t shape[] = {200};
  aclTensor* row = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, shape, 1, memory.device_data());
  uint64_t workspace = 0;
  for (const Tensor* out : {&separate, &memory})
    ASSERT_EQ(call(aclnnSmoothL1LossBackwardGetWorkspaceSize, aclnnSmoothL1LossBackward, &workspace,
                   gradOut.on_device(), row, target.on_device(), int64_t{0}, 1.0f, out->on_device()),
              0);
  EXPECT_GE(workspace, 200 * sizeof(float));
  memory.download();
  separate.download();
  for (int64_t i = 0; i < memory.size(); ++i)
    if (!std::isnan(separate.get(i))) {
      ASSERT_EQ(memory.bits(i), separate.bits(i)) << i;
    }
  EXPECT_EQ(aclDestroyTensor(row), 0);
}

}  // namespace
}  // namespace descend::test::smooth_l1_loss
