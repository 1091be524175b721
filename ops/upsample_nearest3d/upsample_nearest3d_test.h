// SPDX-License-Identifier: MIT
// What the tests of the nearest upsampling share: cases, volumes, and the comparison with plain loops.
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <utility>
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "ops/upsample_nearest3d/upsample_nearest3d.h"
#include "tests/harness/call.h"
#include "tests/harness/dtypes.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test::upsample_nearest3d {

// ND, NCDHW and an unrelated one all mean (N, C, D, H, W).
inline const std::vector<aclFormat> kFormats{ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC, ACL_FORMAT_ND};
inline const double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

using Scales = std::array<double, 3>;
inline constexpr Scales kBySizes{0, 0, 0};

// Sizes of the input as N, C, D, H, W, of the output as D, H, W.
struct Case {
  Sizes in, out;
  Scales scales = kBySizes;
  Sizes out_sizes() const { return {in[0], in[1], out[0], out[1], out[2]}; }
};
inline const std::vector<Case> kCases{
    {{1, 1, 1, 1, 1}, {1, 1, 1}},
    {{2, 2, 1, 1, 1}, {2, 2, 2}},
    {{2, 3, 4, 5, 6}, {4, 5, 6}},       // the same size
    {{2, 3, 2, 3, 5}, {4, 6, 10}},      // twice
    {{1, 2, 2, 2, 9}, {8, 8, 36}},      // four times
    {{1, 5, 1, 2, 7}, {3, 6, 21}},      // three times
    {{1, 8, 2, 3, 16}, {6, 9, 48}},     // the same, in vectors whichever axis they are along
    {{2, 3, 2, 3, 5}, {3, 7, 11}},      // no whole factor
    {{1, 3, 5, 7, 20}, {2, 3, 7}},      // smaller
    {{1, 3, 4, 2, 3}, {1, 1, 1}},       // to one point
    {{1, 2, 1, 1, 1}, {3, 5, 1030}},    // from one point: boxes longer than a tile
    {{1, 2, 1, 2, 600}, {1, 3, 1200}},  // more than a tile of results
    {{1, 300, 1, 2, 3}, {2, 2, 6}},     // more channels than a block has
    {{2, 3, 2, 3, 5}, {4, 6, 10}, {2, 2, 2}},
    {{2, 3, 2, 3, 5}, {5, 7, 11}, {2.5, 2.4, 2.3}},
    {{1, 3, 4, 4, 9}, {4, 4, 18}, {1, 1, 2}},
    {{1, 8, 2, 3, 16}, {4, 6, 32}},  // twice, in vectors whichever axis they are along
};

inline std::string describe_case(const Case& c) {
  return cat("[", descend::describe(Dims(c.in.data(), 5)), " to ", descend::describe(Dims(c.out.data(), 3)), " scales ",
             c.scales[0], " ", c.scales[1], " ", c.scales[2], "] ");
}

inline bool is_last(aclFormat format) { return format == ACL_FORMAT_NDHWC; }

inline Sizes shape_of(const Sizes& s, aclFormat format) {
  return is_last(format) ? Sizes{s[0], s[2], s[3], s[4], s[1]} : s;
}

// A tensor whose elements are named by N, C, D, H and W, whatever its format.
struct Volume : Tensor {
  Sizes sizes;
  bool last;
  Volume(DataType dtype, const Sizes& s, aclFormat format = ACL_FORMAT_NCDHW, Layout layout = Layout::kContiguous)
      : Tensor(dtype, shape_of(s, format), layout, format), sizes(s), last(is_last(format)) {}
  int64_t at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    if (last) return (((n * sizes[2] + d) * sizes[3] + h) * sizes[4] + w) * sizes[1] + c;
    return (((n * sizes[1] + c) * sizes[2] + d) * sizes[3] + h) * sizes[4] + w;
  }
  template <class Body> void each(const Body& body) const {
    for (int64_t n = 0; n < sizes[0]; ++n)
      for (int64_t c = 0; c < sizes[1]; ++c)
        for (int64_t d = 0; d < sizes[2]; ++d)
          for (int64_t h = 0; h < sizes[3]; ++h)
            for (int64_t w = 0; w < sizes[4]; ++w) body(n, c, d, h, w);
  }
  // The same value at the same place for every format and layout.
  void fill_volume(const std::vector<double>& values) {
    size_t next = 0;
    each([&](auto... i) { set(at(i...), values[next++ % values.size()]); });
  }
};

inline int32_t backward_with(const Tensor& gradOut, const Sizes& outputSize, const Sizes& inputSize, const Scales& s,
                             const Tensor& gradInput, uint64_t* workspace = nullptr) {
  const Ints out(outputSize), in(inputSize);
  return call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, workspace,
              gradOut.on_device(), static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(in), s[0],
              s[1], s[2], gradInput.on_device());
}
inline int32_t backward(const Tensor& gradOut, const Case& c, const Tensor& gradInput, uint64_t* workspace = nullptr) {
  return backward_with(gradOut, c.out, c.in, c.scales, gradInput, workspace);
}
inline int32_t forward(const Tensor& self, const Sizes& outputSize, const Scales& s, const Tensor& out,
                       uint64_t* workspace = nullptr) {
  const Ints size(outputSize);
  return call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, workspace, self.on_device(),
              static_cast<const aclIntArray*>(size), s[0], s[1], s[2], out.on_device());
}

inline std::vector<double> random_values(size_t count, uint64_t seed) {
  std::vector<double> values(count);
  Random random(seed);
  for (double& v : values) v = random.next();
  return values;
}

// The contract's interval of one axis, written once more.
inline std::pair<int64_t, int64_t> box(int64_t i, int64_t in, int64_t out, double scale, bool scaled) {
  const float s = scaled ? static_cast<float>(scale) : static_cast<float>(out) / static_cast<float>(in);
  const auto bound = [&](int64_t at) {
    const float x = std::ceil(static_cast<float>(at) * s);
    return std::isnan(x) ? 0 : x < static_cast<float>(out) ? static_cast<int64_t>(x) : out;
  };
  return {bound(i), bound(i + 1)};
}

struct Sum {
  double value = 0;      // one after the other, in float or double
  double magnitude = 0;  // of the terms
  int64_t terms = 0;
};
inline Sum plain_sum(const Volume& gradOut, const Case& c, int64_t n, int64_t channel, std::array<int64_t, 3> i) {
  const bool scaled = c.scales[0] > 0 && c.scales[1] > 0 && c.scales[2] > 0;
  std::pair<int64_t, int64_t> own[3];
  for (size_t axis = 0; axis < 3; ++axis) own[axis] = box(i[axis], c.in[axis + 2], c.out[axis], c.scales[axis], scaled);
  Sum sum;
  float narrow = 0;
  for (int64_t d = own[0].first; d < own[0].second; ++d)
    for (int64_t h = own[1].first; h < own[1].second; ++h)
      for (int64_t w = own[2].first; w < own[2].second; ++w, ++sum.terms) {
        const double term = gradOut.get(gradOut.at(n, channel, d, h, w));
        narrow += static_cast<float>(term);
        sum.value += term;
        sum.magnitude += std::fabs(term);
      }
  if (gradOut.dtype() != DataType::kDouble) sum.value = narrow;
  return sum;
}

// A sum of n terms makes n - 1 roundings, each of at most 2^-24 (2^-53 in double) of a partial sum, which no partial
// sum exceeds the magnitudes' sum.  The half kinds are rounded once more, and so is the reference's result: one ulp.
inline double bound_of(DataType dtype, const Sum& sum, double exact) {
  const double unit = dtype == DataType::kDouble ? 0x1p-53 : 0x1p-24;
  const double ulp = dtype == DataType::kFloat16 ? 0x1p-10 : dtype == DataType::kBfloat16 ? 0x1p-7 : 2 * unit;
  return static_cast<double>(std::max<int64_t>(sum.terms - 1, 0)) * unit * sum.magnitude +
         (sum.terms > 1 ? ulp * std::fabs(exact) : 0);
}

struct Layouts {
  aclFormat in_format = ACL_FORMAT_NCDHW, out_format = ACL_FORMAT_NCDHW;
  Layout in = Layout::kContiguous, out = Layout::kContiguous;
};

// Bit for bit what a plain loop gives; and, of finite numbers, near the reference.
inline void check_backward(DataType dtype, const Case& c, const Layouts& l, const std::vector<double>& values,
                           bool finite = true) {
  Volume gradOut(dtype, c.out_sizes(), l.out_format, l.out), gradInput(dtype, c.in, l.in_format, l.in),
      expected(dtype, c.in, l.in_format, l.in);
  const std::string where =
      cat(describe_case(c), descend::describe(*gradOut.on_host()), " to ", descend::describe(*gradInput.on_host()));
  gradOut.fill_volume(values);
  gradOut.upload();
  gradInput.upload();
  uint64_t workspace = 1;
  ASSERT_EQ(backward(gradOut, c, gradInput, &workspace), 0) << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  gradInput.download();
  ASSERT_TRUE(gradInput.untouched_outside()) << where;
  const Ints out(c.out), in(c.in);
  UpsampleNearest3dBackward::Params p{gradOut.on_host(), out, in, c.scales[0], c.scales[1], c.scales[2],
                                      expected.on_host()};
  find_operator("aclnnUpsampleNearest3dBackward")->reference(&p);
  gradInput.each([&](int64_t n, int64_t channel, int64_t d, int64_t h, int64_t w) {
    const int64_t i = gradInput.at(n, channel, d, h, w);
    const Sum sum = plain_sum(gradOut, c, n, channel, {d, h, w});
    char bits[8];
    encode(dtype, sum.value, bits);
    const double result = gradInput.get(i), exact = expected.get(i);
    if (std::isnan(sum.value))
      ASSERT_TRUE(std::isnan(result)) << where << ", element " << i;
    else
      ASSERT_EQ(gradInput.bits(i), std::string(bits, gradInput.item()))
          << where << ", element " << i << ": " << result << ", a plain loop has " << sum.value;
    if (!finite) return;
    ASSERT_LE(std::fabs(result - exact), bound_of(dtype, sum, exact))
        << where << ", element " << i << ": " << result << ", the reference has " << exact;
  });
}

inline void check_forward(DataType dtype, const Case& c, aclFormat format, Layout in, Layout out) {
  Volume self(dtype, c.in, format, in), result(dtype, c.out_sizes(), format, out),
      expected(dtype, c.out_sizes(), format, out);
  const std::string where =
      cat(describe_case(c), descend::describe(*self.on_host()), " to ", descend::describe(*result.on_host()));
  self.fill_volume(landmarks(dtype, random_values(200, 9)));
  self.upload();
  result.upload();
  uint64_t workspace = 1;
  ASSERT_EQ(forward(self, c.out, c.scales, result, &workspace), 0) << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  result.download();
  ASSERT_TRUE(result.untouched_outside()) << where;
  const Ints size(c.out);
  UpsampleNearest3d::Params p{self.on_host(), size, c.scales[0], c.scales[1], c.scales[2], expected.on_host()};
  find_operator("aclnnUpsampleNearest3d")->reference(&p);
  for (int64_t i = 0; i < result.size(); ++i)
    ASSERT_EQ(result.bits(i), expected.bits(i))
        << where << ", element " << i << ": " << result.get(i) << ", the reference has " << expected.get(i);
}

class UpsampleNearest3dOperators : public testing::Test {
  OnDevice on_device_;
};

}  // namespace descend::test::upsample_nearest3d
