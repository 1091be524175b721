// SPDX-License-Identifier: MIT
// The nearest upsampling of volumes and its gradient through the C API, against their references and against plain
// loops that add in the order the contract says.
#include "ops/upsample_nearest3d/upsample_nearest3d_test.h"

namespace descend::test::upsample_nearest3d {
namespace {

TEST_F(UpsampleNearest3dOperators, gradient_agrees_for_all_dtypes_formats_and_sizes) {
  const std::vector<double> values = random_values(211, 1);
  for (DataType dtype : kFloatsAndDouble)
    for (const Case& c : kCases)
      for (aclFormat in : kFormats)
        for (aclFormat out : kFormats) check_backward(dtype, c, {in, out}, values);
}

TEST_F(UpsampleNearest3dOperators, gradient_agrees_for_all_layouts) {
  const std::vector<double> values = random_values(211, 2);
  size_t next = 0;  // dtypes take turns
  for (const Case& c : kCases)
    for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC})
      for (Layout in : output_layouts())
        for (Layout out : all_layouts())
          check_backward(kFloatsAndDouble[next++ % 4], c, {format, format, in, out}, values);
}

TEST_F(UpsampleNearest3dOperators, values_agree_for_all_dtypes_formats_and_sizes) {
  for (DataType dtype : kFloatsAndDouble)
    for (const Case& c : kCases)
      for (aclFormat format : kFormats) check_forward(dtype, c, format, Layout::kContiguous, Layout::kContiguous);
}

TEST_F(UpsampleNearest3dOperators, values_agree_for_all_layouts) {
  size_t next = 0;
  for (const Case& c : kCases)
    for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC})
      for (Layout in : all_layouts())
        for (Layout out : output_layouts()) check_forward(kFloatsAndDouble[next++ % 4], c, format, in, out);
}

TEST_F(UpsampleNearest3dOperators, planes_larger_than_what_is_copied_at_a_time) {
  const std::vector<double> values = random_values(1009, 7);
  const Case cases[] = {{{1, 1, 1, 200, 100}, {3, 300, 150}},  // copied in several parts
                        {{1, 1, 2, 90, 70}, {4, 180, 140}},
                        {{1, 1, 1, 2, 2}, {20, 40, 60}}};  // an element's box is too large to be copied
  for (DataType dtype : kFloatsAndDouble)
    for (const Case& c : cases) {
      check_backward(dtype, c, {ACL_FORMAT_NCDHW, ACL_FORMAT_NCDHW, Layout::kContiguous, Layout::kTransposed}, values);
      check_forward(dtype, c, ACL_FORMAT_NCDHW, Layout::kTransposed, Layout::kContiguous);
    }
}

TEST_F(UpsampleNearest3dOperators, lengths_around_vectors_and_tiles) {
  const std::vector<double> values = random_values(1009, 3);
  size_t next = 0;
  for (int64_t length : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 511, 512, 513})
    for (int64_t factor : {1, 2, 3, 4, 5}) {
      const DataType dtype = kFloatsAndDouble[next++ % 4];
      const Case wide{{1, 1, 1, 2, length}, {1, 3, length * factor}};
      check_backward(dtype, wide, {}, values);
      check_forward(dtype, wide, ACL_FORMAT_ND, Layout::kContiguous, Layout::kContiguous);
      const Case deep{{1, length, 1, 1, 3}, {1, 2, 3 * factor}};
      check_backward(dtype, deep, {ACL_FORMAT_NDHWC, ACL_FORMAT_NDHWC}, values);
      check_forward(dtype, deep, ACL_FORMAT_NDHWC, Layout::kContiguous, Layout::kContiguous);
    }
}

TEST_F(UpsampleNearest3dOperators, outputs_longer_or_shorter_than_a_whole_factor) {
  // The vector paths are for rows whose boxes all have one size: one element more or less must leave them.
  const std::vector<double> values = random_values(1009, 4);
  for (DataType dtype : kFloatsAndDouble)
    for (double scale : {1, 2, 4})
      for (int64_t difference : {-3, -1, 0, 1, 5}) {
        const Case c{{1, 2, 2, 2, 21}, {2, 2, 21 * static_cast<int64_t>(scale) + difference}, {1, 1, scale}};
        check_backward(dtype, c, {}, values);
        check_forward(dtype, c, ACL_FORMAT_NCDHW, Layout::kContiguous, Layout::kContiguous);
      }
}

TEST_F(UpsampleNearest3dOperators, scales_that_do_not_match_the_sizes) {
  const double tiny = 0x1p-149, nan = std::nan("");
  std::vector<Scales> all;
  for (double s : {1.0,  0.5,    0.3,       3.0,  7.5, 1e-3, 1e3,  1e-30, 1e30,       1e-60,
                   1e60, 1e-320, kInfinity, tiny, nan, -1.0, -0.0, 0.0,   -kInfinity, 1e-39}) {
    all.push_back({s, s, s});
    all.push_back({2, 2, s});
    all.push_back({s, 1, 2});
    all.push_back({1, s, 0.7});
  }
  const std::vector<double> values = random_values(211, 5);
  size_t next = 0;
  for (const Scales& scales : all)
    for (Case c : {kCases[2], kCases[3], kCases[6], kCases[7], kCases[8]}) {
      c.scales = scales;
      const DataType dtype = kFloatsAndDouble[next++ % 4];
      for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC}) {
        check_backward(dtype, c, {format, format}, values);
        check_forward(dtype, c, format, Layout::kContiguous, Layout::kContiguous);
      }
    }
}

TEST_F(UpsampleNearest3dOperators, infinities_nan_and_the_ends_of_the_range_are_added_as_floats_are) {
  for (DataType dtype : kFloatsAndDouble)
    for (const Case& c : kCases)
      for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC})
        check_backward(dtype, c, {format, format}, landmarks(dtype, {0.1, -0.1, 3, 1e-3}), false);
}

TEST_F(UpsampleNearest3dOperators, an_infinite_scale_gives_everything_to_the_first) {
  const Case c{{1, 1, 2, 2, 3}, {2, 2, 6}, {1e60, kInfinity, 1e300}};
  Volume gradOut(DataType::kFloat, c.out_sizes()), gradInput(DataType::kFloat, c.in);
  gradOut.fill({1});
  gradOut.upload();
  ASSERT_EQ(backward(gradOut, c, gradInput), 0) << recent_error();
  gradInput.download();
  for (int64_t i = 0; i < gradInput.size(); ++i) EXPECT_EQ(gradInput.get(i), i == 0 ? 24 : 0) << i;
}

// Valid calls, from which tests/spec_test.cc makes a failing one for every rule.
[[maybe_unused]] const bool sampled[] = {
    add_sample<UpsampleNearest3d>("aclnnUpsampleNearest3d",
                                  [](Sample& s) -> UpsampleNearest3d::Params {
                                    return {s.tensor(DataType::kFloat, {2, 3, 1, 2, 3}), s.ints({2, 3, 6}), 0, 0, 0,
                                            s.tensor(DataType::kFloat, {2, 3, 2, 3, 6})};
                                  }),
    add_sample<UpsampleNearest3dBackward>(
        "aclnnUpsampleNearest3dBackward",
        [](Sample& s) -> UpsampleNearest3dBackward::Params {
          return {s.tensor(DataType::kFloat, {2, 3, 2, 3, 6}), s.ints({2, 3, 6}), s.ints({2, 3, 1, 2, 3}), 0, 0, 0,
                  s.tensor(DataType::kFloat, {2, 3, 1, 2, 3})};
        }),
};

}  // namespace
}  // namespace descend::test::upsample_nearest3d
