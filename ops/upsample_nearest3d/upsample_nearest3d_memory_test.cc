// SPDX-License-Identifier: MIT
// Where the tensors of the nearest upsampling may lie: far apart, in place, over each other.
#include "ops/upsample_nearest3d/upsample_nearest3d_test.h"
#include "tests/harness/sparse.h"

namespace descend::test::upsample_nearest3d {
namespace {

TEST_F(UpsampleNearest3dOperators, an_output_in_the_place_of_the_input_reads_it_first) {
  // The same sizes, but scales that move elements: no element is read before its place is written.
  const std::vector<double> values = random_values(400, 12);
  for (DataType dtype : kFloatsAndDouble) {
    const Case c{{1, 2, 3, 4, 9}, {3, 4, 9}, {0.5, 2, 0.4}};
    for (bool up : {false, true}) {
      Volume separate(dtype, c.in), result(dtype, c.in), over(dtype, c.in);
      separate.fill(values);
      over.fill(values);
      separate.upload();
      over.upload();
      uint64_t workspace = 0;
      if (up) {
        ASSERT_EQ(forward(separate, c.out, c.scales, result), 0);
        ASSERT_EQ(forward(over, c.out, c.scales, over, &workspace), 0) << recent_error();
      } else {
        ASSERT_EQ(backward(separate, c, result), 0);
        ASSERT_EQ(backward(over, c, over, &workspace), 0) << recent_error();
      }
      EXPECT_GE(workspace, static_cast<uint64_t>(over.size()) * over.item());
      result.download();
      over.download();
      for (int64_t i = 0; i < over.size(); ++i) ASSERT_EQ(over.bits(i), result.bits(i)) << up << " " << i;
    }
  }
}

TEST_F(UpsampleNearest3dOperators, an_output_that_overlaps_the_input_reads_it_first) {
  // gradInput lies inside gradOut, somewhere behind its beginning.
  const Case c{{1, 2, 2, 2, 8}, {4, 4, 16}};
  Volume gradOut(DataType::kFloat, c.out_sizes()), separate(DataType::kFloat, c.in);
  gradOut.fill(random_values(600, 13));
  gradOut.upload();
  aclTensor* inside =
      aclCreateTensor(c.in.data(), 5, ACL_FLOAT, nullptr, 40, ACL_FORMAT_NCDHW, c.in.data(), 5, gradOut.device_data());
  const Ints out(c.out), in(c.in);
  ASSERT_EQ(backward(gradOut, c, separate), 0);
  uint64_t workspace = 0;
  ASSERT_EQ(call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, &workspace,
                 gradOut.on_device(), static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(in), 0.0,
                 0.0, 0.0, inside),
            0);
  EXPECT_GE(workspace, static_cast<uint64_t>(gradOut.size()) * sizeof(float));
  gradOut.download();
  separate.download();
  for (int64_t i = 0; i < separate.size(); ++i) ASSERT_EQ(gradOut.bits(i + 24), separate.bits(i));  // 16 are margin
  EXPECT_EQ(aclDestroyTensor(inside), 0);
}

TEST_F(UpsampleNearest3dOperators, elements_farther_apart_than_2_to_the_31) {
  // Sparse memory, of which a few pages are touched; one more element than int32 counts between any two.
  constexpr int64_t kFar = (int64_t{1} << 31) + 1;
  const size_t bytes = static_cast<size_t>(kFar * 3 + 64) * sizeof(uint16_t);
  SparseMemory large(bytes), small(bytes);
  for (size_t axis = 1; axis < 5; ++axis) {  // which one is far apart
    Sizes in{1, 1, 1, 1, 1}, sizes{1, 1, 1, 1, 1}, strides{1, 1, 1, 1, 1};
    in[axis] = 2;
    sizes[axis] = axis == 1 ? 2 : 3;
    strides[axis] = kFar;
    const auto make = [&](const Sizes& s, int64_t offset, const SparseMemory& memory) {
      return aclCreateTensor(s.data(), 5, ACL_FLOAT16, strides.data(), offset, ACL_FORMAT_NCDHW, s.data(), 5,
                             memory.data());
    };
    const int64_t step = strides[axis];
    aclTensor *output = make(sizes, 5, large), *input = make(in, 7, small);
    const Ints out({sizes[2], sizes[3], sizes[4]}), size(in);
    for (int64_t i = 0; i < sizes[axis]; ++i) large.set(5 + i * step, float16::from(static_cast<float>(i + 1)));
    ASSERT_EQ(call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, nullptr, output,
                   static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(size), 0.0, 0.0, 0.0, input),
              0)
        << recent_error();
    EXPECT_EQ(static_cast<float>(small.get<float16>(7)), axis == 1 ? 1 : 3) << axis;  // 1 + 2 and 3
    EXPECT_EQ(static_cast<float>(small.get<float16>(7 + step)), axis == 1 ? 2 : 3) << axis;
    small.set(7, float16::from(10)), small.set(7 + step, float16::from(20));
    ASSERT_EQ(call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, nullptr, input,
                   static_cast<const aclIntArray*>(out), 0.0, 0.0, 0.0, output),
              0)
        << recent_error();
    for (int64_t i = 0; i < sizes[axis]; ++i)
      EXPECT_EQ(static_cast<float>(large.get<float16>(5 + i * step)), i == sizes[axis] - 1 ? 20 : 10)
          << axis << " " << i;
    aclDestroyTensor(output);
    aclDestroyTensor(input);
  }
  // The same distance as an offset.
  const Case c{{1, 1, 1, 1, 2}, {1, 1, 4}};
  const auto make = [&](const Sizes& s, const SparseMemory& memory) {
    return aclCreateTensor(s.data(), 5, ACL_FLOAT16, nullptr, 3 * kFar, ACL_FORMAT_NCDHW, s.data(), 5, memory.data());
  };
  const Sizes out_sizes = c.out_sizes();
  aclTensor *output = make(out_sizes, large), *input = make(c.in, small);
  for (int i = 0; i < 4; ++i) large.set(3 * kFar + i, float16::from(static_cast<float>(1 << i)));
  const Ints out(c.out), in(c.in);
  ASSERT_EQ(call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, nullptr, output,
                 static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(in), 0.0, 0.0, 0.0, input),
            0);
  EXPECT_EQ(static_cast<float>(small.get<float16>(3 * kFar)), 3);
  EXPECT_EQ(static_cast<float>(small.get<float16>(3 * kFar + 1)), 12);
  aclDestroyTensor(output);
  aclDestroyTensor(input);
}

TEST_F(UpsampleNearest3dOperators, strides_that_leave_the_address_space_fail) {
  const Case c{{1, 1, 1, 1, 2}, {1, 1, 4}};
  const Volume small(DataType::kFloat, c.in), large(DataType::kFloat, c.out_sizes());
  const Ints out(c.out), in(c.in);
  for (int64_t stride : {kMost, kMost / 3, -kMost, -kMost - 1}) {
    const int64_t strides[] = {1, 1, 1, 1, stride};
    const auto make = [&](const Sizes& s, const Tensor& t) {
      return aclCreateTensor(s.data(), 5, ACL_FLOAT, strides, 16, ACL_FORMAT_NCDHW, s.data(), 5, t.device_data());
    };
    aclTensor *far_small = make(c.in, small), *far_large = make(c.out_sizes(), large);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnUpsampleNearest3dBackwardGetWorkspaceSize(far_large, out, in, 0, 0, 0, small.on_device(), &size,
                                                             &executor),
              161002);
    EXPECT_EQ(aclnnUpsampleNearest3dBackwardGetWorkspaceSize(large.on_device(), out, in, 0, 0, 0, far_small, &size,
                                                             &executor),
              161002);
    EXPECT_EQ(aclnnUpsampleNearest3dGetWorkspaceSize(far_small, out, 0, 0, 0, large.on_device(), &size, &executor),
              161002);
    EXPECT_EQ(aclnnUpsampleNearest3dGetWorkspaceSize(small.on_device(), out, 0, 0, 0, far_large, &size, &executor),
              161002);
    aclDestroyTensor(far_small);
    aclDestroyTensor(far_large);
  }
  // An output whose elements share memory.
  const int64_t none[] = {1, 1, 1, 1, 0};
  const Sizes sizes = c.out_sizes();
  aclTensor* shared =
      aclCreateTensor(sizes.data(), 5, ACL_FLOAT, none, 16, ACL_FORMAT_NCDHW, sizes.data(), 5, large.device_data());
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnUpsampleNearest3dGetWorkspaceSize(small.on_device(), out, 0, 0, 0, shared, &size, &executor), 161002);
  aclDestroyTensor(shared);
}

}  // namespace
}  // namespace descend::test::upsample_nearest3d
