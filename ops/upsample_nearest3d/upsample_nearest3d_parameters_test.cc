// SPDX-License-Identifier: MIT
// The parameters of the nearest upsampling: sizes, formats, and what does not fit together.
#include "ops/upsample_nearest3d/upsample_nearest3d_test.h"

namespace descend::test::upsample_nearest3d {
namespace {

TEST_F(UpsampleNearest3dOperators, input_size_may_have_either_order_for_ndhwc) {
  struct Order {
    aclFormat out_format, in_format;
    Sizes sizes, inputSize;
    int32_t answer;
  };
  const aclFormat kFirst = ACL_FORMAT_NCDHW, kLast = ACL_FORMAT_NDHWC;
  const Sizes plain{2, 3, 4, 5, 6}, channels_last{2, 4, 5, 6, 3};
  for (const Order& o : std::vector<Order>{{kLast, kLast, plain, plain, 0},
                                           {kLast, kLast, plain, channels_last, 0},
                                           {kFirst, kFirst, plain, plain, 0},
                                           {kFirst, kFirst, plain, channels_last, 161002},
                                           {ACL_FORMAT_ND, ACL_FORMAT_ND, plain, channels_last, 161002},
                                           {kFirst, kLast, plain, channels_last, 0},
                                           {kFirst, kLast, plain, plain, 0},
                                           {kLast, kFirst, plain, channels_last, 0},
                                           {kLast, kFirst, plain, plain, 0},
                                           {kLast, kLast, plain, {2, 5, 6, 3, 4}, 161002},
                                           {kLast, kLast, plain, {3, 2, 4, 5, 6}, 161002},
                                           {kLast, kLast, {2, 3, 3, 3, 3}, {2, 3, 3, 3, 3}, 0},  // no order to tell
                                           {kLast, kLast, {2, 3, 3, 3, 4}, {2, 3, 3, 3, 4}, 0},  // N, C, D, H, W
                                           {kLast, kLast, {2, 3, 3, 3, 4}, {2, 3, 3, 4, 3}, 0},  // N, D, H, W, C
                                           {kLast, kLast, {2, 3, 3, 3, 4}, {2, 3, 4, 3, 3}, 161002}}) {
    const Case c{o.sizes, {8, 10, 12}};
    Volume gradOut(DataType::kFloat, c.out_sizes(), o.out_format), gradInput(DataType::kFloat, c.in, o.in_format);
    gradOut.fill_volume(random_values(97, 10));
    gradOut.upload();
    ASSERT_EQ(backward_with(gradOut, c.out, o.inputSize, c.scales, gradInput), o.answer)
        << descend::describe(Dims(o.inputSize.data(), 5)) << recent_error();
    if (o.answer != 0) {
      EXPECT_NE(recent_error().find("inputSize must satisfy: is gradInput's (N, C, D, H, W)"), std::string::npos);
      continue;
    }
    gradInput.download();
    gradInput.each([&](int64_t n, int64_t channel, int64_t d, int64_t h, int64_t w) {
      ASSERT_EQ(gradInput.get(gradInput.at(n, channel, d, h, w)), plain_sum(gradOut, c, n, channel, {d, h, w}).value);
    });
  }
}

TEST_F(UpsampleNearest3dOperators, sizes_that_are_no_sizes_or_not_the_tensors_fail) {
  const Case c{{1, 2, 2, 3, 4}, {4, 6, 8}};
  Volume small(DataType::kFloat, c.in), large(DataType::kFloat, c.out_sizes());
  for (const Sizes& bad : std::vector<Sizes>{{0, 6, 8},
                                             {4, -6, 8},
                                             {4, 6, kMost},
                                             {-kMost - 1, 6, 8},
                                             {4, 6},
                                             {},
                                             {4, 6, 8, 1},
                                             {8, 6, 4},
                                             {kMost, kMost, kMost},
                                             {4, 6, 7}}) {
    EXPECT_EQ(backward_with(large, bad, c.in, kBySizes, small), 161002);
    EXPECT_NE(recent_error().find("outputSize must satisfy: "), std::string::npos);
    EXPECT_EQ(forward(small, bad, kBySizes, large), 161002);
  }
  for (const Sizes& bad : std::vector<Sizes>{{1, 2, 0, 3, 4},
                                             {1, 2, 2, 3, -4},
                                             {1, 2, 2, 3, kMost},
                                             {2, 3, 4},
                                             {},
                                             {1, 2, 2, 3, 4, 1},
                                             {-1, 2, 2, 3, 4},
                                             {kMost, kMost, kMost, kMost, kMost}}) {
    EXPECT_EQ(backward_with(large, c.out, bad, kBySizes, small), 161002);
    EXPECT_NE(recent_error().find("inputSize must satisfy: "), std::string::npos);
  }
  const Ints size(c.out);
  uint64_t workspace = 7;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnUpsampleNearest3dBackwardGetWorkspaceSize(large.on_device(), nullptr, size, 0, 0, 0, small.on_device(),
                                                           &workspace, &executor),
            161001);
  EXPECT_EQ(aclnnUpsampleNearest3dBackwardGetWorkspaceSize(large.on_device(), size, nullptr, 0, 0, 0, small.on_device(),
                                                           &workspace, &executor),
            161001);
  EXPECT_EQ(aclnnUpsampleNearest3dGetWorkspaceSize(small.on_device(), nullptr, 0, 0, 0, large.on_device(), &workspace,
                                                   &executor),
            161001);
  EXPECT_EQ(workspace, 7u);
  EXPECT_EQ(executor, nullptr);
}

TEST_F(UpsampleNearest3dOperators, tensors_that_do_not_belong_together_fail) {
  const Sizes in{2, 3, 2, 2, 2}, out{4, 4, 4};
  Volume self(DataType::kFloat, in), last(DataType::kFloat, in, ACL_FORMAT_NDHWC);
  self.upload();
  last.upload();
  const Volume good(DataType::kFloat, {2, 3, 4, 4, 4}), other_last(DataType::kFloat, {2, 3, 4, 4, 4}, ACL_FORMAT_NDHWC);
  EXPECT_EQ(forward(self, out, kBySizes, good), 0) << recent_error();
  EXPECT_EQ(forward(last, out, kBySizes, other_last), 0) << recent_error();
  EXPECT_EQ(forward(self, out, kBySizes, other_last), 161002);  // out is in self's order
  EXPECT_EQ(forward(last, out, kBySizes, good), 161002);
  EXPECT_EQ(forward(self, out, kBySizes, Volume(DataType::kFloat, {1, 3, 4, 4, 4})), 161002);
  EXPECT_EQ(forward(self, out, kBySizes, Volume(DataType::kFloat, {2, 4, 4, 4, 4})), 161002);
  EXPECT_EQ(forward(self, out, kBySizes, Volume(DataType::kFloat16, {2, 3, 4, 4, 4})), 161002);
  EXPECT_EQ(backward_with(good, out, in, kBySizes, self), 0) << recent_error();
  EXPECT_EQ(backward_with(good, out, {1, 3, 2, 2, 2}, kBySizes, Volume(DataType::kFloat, {1, 3, 2, 2, 2})), 161002);
  EXPECT_EQ(backward_with(good, out, {2, 1, 2, 2, 2}, kBySizes, Volume(DataType::kFloat, {2, 1, 2, 2, 2})), 161002);
  EXPECT_EQ(backward_with(good, out, in, kBySizes, Volume(DataType::kDouble, in)), 161002);
  EXPECT_EQ(backward_with(Tensor(DataType::kFloat, {2, 3, 4, 4}), out, in, kBySizes, self), 161002);
  EXPECT_EQ(backward_with(Tensor(DataType::kInt32, {2, 3, 4, 4, 4}), out, in, kBySizes, self), 161002);
}

TEST_F(UpsampleNearest3dOperators, out_is_in_the_order_of_self_whatever_its_own_label) {
  const Case c{{1, 2, 1, 1, 3}, {1, 1, 6}};
  Volume self(DataType::kFloat, c.in, ACL_FORMAT_NDHWC), out(DataType::kFloat, c.out_sizes(), ACL_FORMAT_NDHWC);
  Tensor labelled(DataType::kFloat, out.shape(), Layout::kContiguous, ACL_FORMAT_ND);
  self.fill_volume(random_values(6, 11));
  self.upload();
  ASSERT_EQ(forward(self, c.out, kBySizes, out), 0);
  ASSERT_EQ(forward(self, c.out, kBySizes, labelled), 0) << recent_error();
  out.download();
  labelled.download();
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(labelled.bits(i), out.bits(i));
}

TEST_F(UpsampleNearest3dOperators, empty_batches_and_channels) {
  for (aclFormat format : kFormats)
    for (const Sizes& in : {Sizes{0, 3, 2, 2, 2}, Sizes{2, 0, 2, 2, 2}, Sizes{0, 0, 2, 2, 2}}) {
      const Case c{in, {4, 4, 4}};
      const Volume small(DataType::kFloat, c.in, format), large(DataType::kFloat, c.out_sizes(), format);
      uint64_t workspace = 1;
      EXPECT_EQ(backward(large, c, small, &workspace), 0) << recent_error();
      EXPECT_EQ(workspace, 0u);
      EXPECT_EQ(forward(small, c.out, kBySizes, large), in[1] == 0 ? 161002 : 0) << recent_error();
    }
  for (size_t axis : {2u, 3u, 4u}) {
    Sizes in{0, 3, 2, 2, 2};  // no batch excuses a volume without elements
    in[axis] = 0;
    const Case c{in, {4, 4, 4}};
    const Volume small(DataType::kFloat, c.in), large(DataType::kFloat, c.out_sizes());
    EXPECT_EQ(backward(large, c, small), 161002);
    EXPECT_EQ(forward(small, c.out, kBySizes, large), 161002);
    const Case turned{{0, 3, 4, 4, 4}, {in[2], in[3], in[4]}};
    EXPECT_EQ(backward(small, turned, large), 161002);
    EXPECT_EQ(forward(large, turned.out, kBySizes, small), 161002);
  }
}

}  // namespace
}  // namespace descend::test::upsample_nearest3d
