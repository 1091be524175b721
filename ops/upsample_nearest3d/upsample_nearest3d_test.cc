// SPDX-License-Identifier: MIT
// The nearest upsampling of volumes and its gradient through the C API, against their references and against plain
// loops that add in the order the contract says.
#include "ops/upsample_nearest3d/upsample_nearest3d.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/targets.h"
#include "src/base/environment.h"
#include "tests/harness/call.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

const std::vector<DataType> kFloats{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16, DataType::kDouble};
// ND, NCDHW and an unrelated one all mean (N, C, D, H, W).
const std::vector<aclFormat> kFormats{ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC, ACL_FORMAT_ND};
const double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

using Scales = std::array<double, 3>;
constexpr Scales kBySizes{0, 0, 0};

// Sizes of the input as N, C, D, H, W, of the output as D, H, W.
struct Case {
  Sizes in, out;
  Scales scales = kBySizes;
  Sizes out_sizes() const { return {in[0], in[1], out[0], out[1], out[2]}; }
};
const std::vector<Case> kCases{
    {{1, 1, 1, 1, 1}, {1, 1, 1}},
    {{2, 2, 1, 1, 1}, {2, 2, 2}},
    {{2, 3, 4, 5, 6}, {4, 5, 6}},       // the same size
    {{2, 3, 2, 3, 5}, {4, 6, 10}},      // twice
    {{1, 2, 2, 2, 9}, {8, 8, 36}},      // four times
    {{1, 5, 1, 2, 7}, {3, 6, 21}},      // three times
    {{2, 3, 2, 3, 5}, {3, 7, 11}},      // no whole factor
    {{1, 3, 5, 7, 20}, {2, 3, 7}},      // smaller
    {{1, 3, 4, 2, 3}, {1, 1, 1}},       // to one point
    {{1, 2, 1, 1, 1}, {3, 5, 1030}},    // from one point: boxes longer than a tile
    {{1, 2, 1, 2, 600}, {1, 3, 1200}},  // more than a tile of results
    {{1, 300, 1, 2, 3}, {2, 2, 6}},     // more channels than a block has
    {{2, 3, 2, 3, 5}, {4, 6, 10}, {2, 2, 2}},
    {{2, 3, 2, 3, 5}, {5, 7, 11}, {2.5, 2.4, 2.3}},
    {{1, 3, 4, 4, 9}, {4, 4, 18}, {1, 1, 2}},
};

std::string describe_case(const Case& c) {
  return cat("[", descend::describe(Dims(c.in.data(), 5)), " to ", descend::describe(Dims(c.out.data(), 3)), " scales ",
             c.scales[0], " ", c.scales[1], " ", c.scales[2], "] ");
}

bool is_last(aclFormat format) { return format == ACL_FORMAT_NDHWC; }

Sizes shape_of(const Sizes& s, aclFormat format) { return is_last(format) ? Sizes{s[0], s[2], s[3], s[4], s[1]} : s; }

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

class Ints {
 public:
  explicit Ints(const Sizes& values) : array_(aclCreateIntArray(values.data(), values.size())) {}
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  ~Ints() { aclDestroyIntArray(array_); }
  operator const aclIntArray*() const { return array_; }  // NOLINT: passed as the handle it is

 private:
  aclIntArray* array_;
};

int32_t backward_with(const Tensor& gradOut, const Sizes& outputSize, const Sizes& inputSize, const Scales& s,
                      const Tensor& gradInput, uint64_t* workspace = nullptr) {
  const Ints out(outputSize), in(inputSize);
  return call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, workspace,
              gradOut.on_device(), static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(in), s[0],
              s[1], s[2], gradInput.on_device());
}
int32_t backward(const Tensor& gradOut, const Case& c, const Tensor& gradInput, uint64_t* workspace = nullptr) {
  return backward_with(gradOut, c.out, c.in, c.scales, gradInput, workspace);
}
int32_t forward(const Tensor& self, const Sizes& outputSize, const Scales& s, const Tensor& out,
                uint64_t* workspace = nullptr) {
  const Ints size(outputSize);
  return call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, workspace, self.on_device(),
              static_cast<const aclIntArray*>(size), s[0], s[1], s[2], out.on_device());
}

std::vector<double> random_values(size_t count, uint64_t seed) {
  std::vector<double> values(count);
  Random random(seed);
  for (double& v : values) v = random.next();
  return values;
}

// The contract's interval of one axis, written once more.
std::pair<int64_t, int64_t> box(int64_t i, int64_t in, int64_t out, double scale, bool scaled) {
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
Sum plain_sum(const Volume& gradOut, const Case& c, int64_t n, int64_t channel, std::array<int64_t, 3> i) {
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
double bound_of(DataType dtype, const Sum& sum, double exact) {
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
void check_backward(DataType dtype, const Case& c, const Layouts& l, const std::vector<double>& values,
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

void check_forward(DataType dtype, const Case& c, aclFormat format, Layout in, Layout out) {
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

TEST_F(UpsampleNearest3dOperators, gradient_agrees_for_all_dtypes_formats_and_sizes) {
  const std::vector<double> values = random_values(211, 1);
  for (DataType dtype : kFloats)
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
        for (Layout out : all_layouts()) check_backward(kFloats[next++ % 4], c, {format, format, in, out}, values);
}

TEST_F(UpsampleNearest3dOperators, values_agree_for_all_dtypes_formats_and_sizes) {
  for (DataType dtype : kFloats)
    for (const Case& c : kCases)
      for (aclFormat format : kFormats) check_forward(dtype, c, format, Layout::kContiguous, Layout::kContiguous);
}

TEST_F(UpsampleNearest3dOperators, values_agree_for_all_layouts) {
  size_t next = 0;
  for (const Case& c : kCases)
    for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC})
      for (Layout in : all_layouts())
        for (Layout out : output_layouts()) check_forward(kFloats[next++ % 4], c, format, in, out);
}

TEST_F(UpsampleNearest3dOperators, lengths_around_vectors_and_tiles) {
  const std::vector<double> values = random_values(1009, 3);
  size_t next = 0;
  for (int64_t length : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 511, 512, 513})
    for (int64_t factor : {1, 2, 3, 4, 5}) {
      const DataType dtype = kFloats[next++ % 4];
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
  for (DataType dtype : kFloats)
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
      const DataType dtype = kFloats[next++ % 4];
      for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC}) {
        check_backward(dtype, c, {format, format}, values);
        check_forward(dtype, c, format, Layout::kContiguous, Layout::kContiguous);
      }
    }
}

TEST_F(UpsampleNearest3dOperators, infinities_nan_and_the_ends_of_the_range_are_added_as_floats_are) {
  for (DataType dtype : kFloats)
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

TEST_F(UpsampleNearest3dOperators, sources_and_boxes_at_the_landmarks) {
  struct Mapping {
    double scale;
    int64_t in, out;
    std::vector<double> sources;
  };
  for (const Mapping& m : std::vector<Mapping>{{0, 3, 7, {0, 0, 0, 1, 1, 2, 2}},
                                               {0, 2, 4, {0, 0, 1, 1}},
                                               {0, 5, 2, {0, 2}},
                                               {2, 2, 5, {0, 0, 1, 1, 1}},
                                               {2.5, 2, 5, {0, 0, 0, 1, 1}},
                                               {0.25, 9, 3, {0, 4, 8}},
                                               {1e-30, 4, 3, {0, 3, 3}},
                                               {1e30, 4, 3, {0, 0, 0}}}) {
    Volume self(DataType::kFloat, {1, 1, 1, 1, m.in}), out(DataType::kFloat, {1, 1, 1, 1, m.out});
    for (int64_t i = 0; i < m.in; ++i) self.set(i, static_cast<double>(i));
    self.upload();
    const double one = m.scale > 0 ? 1 : 0;
    ASSERT_EQ(forward(self, {1, 1, m.out}, {one, one, m.scale}, out), 0) << recent_error();
    out.download();
    for (int64_t i = 0; i < m.out; ++i)
      EXPECT_EQ(out.get(i), m.sources[static_cast<size_t>(i)]) << m.in << " to " << m.out << " by " << m.scale;
  }
  // The page's example.
  const Case page{{2, 2, 1, 1, 1}, {2, 2, 2}};
  Volume gradOut(DataType::kFloat, page.out_sizes()), gradInput(DataType::kFloat, page.in);
  for (int64_t i = 0; i < 32; ++i) gradOut.set(i, static_cast<double>(i + 1));
  gradOut.upload();
  ASSERT_EQ(backward(gradOut, page, gradInput), 0);
  gradInput.download();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(gradInput.get(i), 36 + 64 * i);
}

TEST_F(UpsampleNearest3dOperators, gradient_is_the_adjoint_of_the_upsampling) {
  // <up(x), g> = <x, back(g)>.  Small integers: every sum is exact.  Sizes up to 25: beyond, the contract's float32
  // products put the edge of some boxes one off (26 to 14 is the first).
  Random random(6);
  for (int round = 0; round < 60; ++round) {
    const auto any = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.bits() % most); };
    Case c{{any(2), any(5), any(6), any(8), any(25)}, {any(6), any(8), any(25)}};
    if (round % 3 == 0) {  // whole scales, given
      for (size_t axis = 0; axis < 3; ++axis) {
        c.scales[axis] = static_cast<double>(any(3));
        c.out[axis] = c.in[axis + 2] * static_cast<int64_t>(c.scales[axis]);
      }
    }
    const aclFormat format = kFormats[static_cast<size_t>(round) % 3];
    Volume x(DataType::kDouble, c.in, format), up(DataType::kDouble, c.out_sizes(), format);
    Volume g(DataType::kDouble, c.out_sizes(), format), back(DataType::kDouble, c.in, format);
    for (Volume* v : {&x, &g}) {
      for (int64_t i = 0; i < v->size(); ++i) v->set(i, static_cast<double>(random.bits() % 64) - 32);
      v->upload();
    }
    ASSERT_EQ(forward(x, c.out, c.scales, up), 0) << recent_error();
    ASSERT_EQ(backward(g, c, back), 0) << recent_error();
    up.download();
    back.download();
    double left = 0, right = 0, given = 0, kept = 0;
    for (int64_t i = 0; i < up.size(); ++i) left += up.get(i) * g.get(i), given += g.get(i);
    for (int64_t i = 0; i < x.size(); ++i) right += x.get(i) * back.get(i), kept += back.get(i);
    EXPECT_EQ(left, right) << describe_case(c);
    EXPECT_EQ(given, kept) << describe_case(c) << "the sum of the gradient is not conserved";
  }
}

TEST_F(UpsampleNearest3dOperators, gradient_is_the_slope_of_the_upsampling) {
  constexpr double kStep = 1.0 / 64;
  const Case c{{1, 2, 2, 3, 4}, {3, 3, 9}};
  Volume x(DataType::kDouble, c.in), up(DataType::kDouble, c.out_sizes()), g(DataType::kDouble, c.out_sizes()),
      back(DataType::kDouble, c.in);
  x.fill(random_values(50, 7));
  g.fill(random_values(200, 8));
  g.upload();
  ASSERT_EQ(backward(g, c, back), 0);
  back.download();
  const Ints size(c.out);
  UpsampleNearest3d::Params p{x.on_host(), size, 0, 0, 0, up.on_host()};
  const auto loss = [&](int64_t i, double v) {
    const double before = x.get(i);
    x.set(i, v);
    find_operator("aclnnUpsampleNearest3d")->reference(&p);
    x.set(i, before);
    double sum = 0;
    for (int64_t k = 0; k < up.size(); ++k) sum += up.get(k) * g.get(k);
    return sum;
  };
  for (int64_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(back.get(i), (loss(i, x.get(i) + kStep) - loss(i, x.get(i) - kStep)) / (2 * kStep), 1e-9) << i;
}

TEST_F(UpsampleNearest3dOperators, gradient_of_a_constant_counts_the_boxes) {
  for (DataType dtype : kFloats) {
    const Case c{{2, 3, 2, 4, 8}, {6, 8, 32}};
    Volume gradOut(dtype, c.out_sizes()), gradInput(dtype, c.in);
    gradOut.fill({0.5});
    gradOut.upload();
    ASSERT_EQ(backward(gradOut, c, gradInput), 0);
    gradInput.download();
    for (int64_t i = 0; i < gradInput.size(); ++i) ASSERT_EQ(gradInput.get(i), 12);  // 3 * 2 * 4 halves
  }
}

TEST_F(UpsampleNearest3dOperators, payloads_of_nan_survive_the_upsampling) {
  for (DataType dtype : kFloats)
    for (int64_t factor : {1, 2, 3, 4})
      for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC}) {
        const Sizes in{1, 4, 1, 1, 64}, to{1, 4, 1, 1, 64 * factor};
        const size_t item = size_of(dtype);
        void *a = nullptr, *b = nullptr;
        ASSERT_EQ(aclrtMalloc(&a, 256 * item, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        ASSERT_EQ(aclrtMalloc(&b, 256 * item * static_cast<size_t>(factor), ACL_MEM_MALLOC_HUGE_FIRST), 0);
        std::vector<unsigned char> bytes(256 * item), result(bytes.size() * static_cast<size_t>(factor));
        Random random(item);  // any bits; the last byte of every element makes many of them quiet or signalling NaNs
        for (size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = i % item == item - 1 ? (i / item % 2 ? 0x7f : 0x7d) : static_cast<unsigned char>(random.bits());
        ASSERT_EQ(aclrtMemcpy(a, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE), 0);
        const Sizes from_shape = shape_of(in, format), to_shape = shape_of(to, format);
        const auto make = [&](const Sizes& s, void* data) {
          return aclCreateTensor(s.data(), 5, static_cast<aclDataType>(dtype), nullptr, 0, format, s.data(), 5, data);
        };
        aclTensor *self = make(from_shape, a), *out = make(to_shape, b);
        const Ints size({1, 1, 64 * factor});
        ASSERT_EQ(call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, nullptr, self,
                       static_cast<const aclIntArray*>(size), 0.0, 0.0, 0.0, out),
                  0);
        ASSERT_EQ(aclrtMemcpy(result.data(), result.size(), b, result.size(), ACL_MEMCPY_DEVICE_TO_HOST), 0);
        for (int64_t w = 0; w < 64 * factor; ++w)
          for (int64_t c = 0; c < 4; ++c) {
            const int64_t i = is_last(format) ? w * 4 + c : c * 64 * factor + w;
            const int64_t k = is_last(format) ? w / factor * 4 + c : c * 64 + w / factor;
            ASSERT_EQ(std::memcmp(result.data() + static_cast<size_t>(i) * item,
                                  bytes.data() + static_cast<size_t>(k) * item, item),
                      0);
          }
        aclDestroyTensor(self);
        aclDestroyTensor(out);
        aclrtFree(a);
        aclrtFree(b);
      }
}

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
  const Volume self(DataType::kFloat, in), last(DataType::kFloat, in, ACL_FORMAT_NDHWC);
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

TEST_F(UpsampleNearest3dOperators, an_output_in_the_place_of_the_input_reads_it_first) {
  // The same sizes, but scales that move elements: no element is read before its place is written.
  const std::vector<double> values = random_values(400, 12);
  for (DataType dtype : kFloats) {
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
  const auto map = [&] {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<float16*>(memory);
  };
  float16 *large = map(), *small = map();
  for (size_t axis = 1; axis < 5; ++axis) {  // which one is far apart
    Sizes in{1, 1, 1, 1, 1}, sizes{1, 1, 1, 1, 1}, strides{1, 1, 1, 1, 1};
    in[axis] = 2;
    sizes[axis] = axis == 1 ? 2 : 3;
    strides[axis] = kFar;
    const auto make = [&](const Sizes& s, int64_t offset, float16* data) {
      return aclCreateTensor(s.data(), 5, ACL_FLOAT16, strides.data(), offset, ACL_FORMAT_NCDHW, s.data(), 5, data);
    };
    const int64_t step = strides[axis];
    aclTensor *output = make(sizes, 5, large), *input = make(in, 7, small);
    const Ints out({sizes[2], sizes[3], sizes[4]}), size(in);
    for (int64_t i = 0; i < sizes[axis]; ++i) large[5 + i * step] = float16::from(static_cast<float>(i + 1));
    ASSERT_EQ(call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, nullptr, output,
                   static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(size), 0.0, 0.0, 0.0, input),
              0)
        << recent_error();
    EXPECT_EQ(static_cast<float>(small[7]), axis == 1 ? 1 : 3) << axis;  // 1 + 2 and 3
    EXPECT_EQ(static_cast<float>(small[7 + step]), axis == 1 ? 2 : 3) << axis;
    small[7] = float16::from(10), small[7 + step] = float16::from(20);
    ASSERT_EQ(call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, nullptr, input,
                   static_cast<const aclIntArray*>(out), 0.0, 0.0, 0.0, output),
              0)
        << recent_error();
    for (int64_t i = 0; i < sizes[axis]; ++i)
      EXPECT_EQ(static_cast<float>(large[5 + i * step]), i == sizes[axis] - 1 ? 20 : 10) << axis << " " << i;
    aclDestroyTensor(output);
    aclDestroyTensor(input);
  }
  // The same distance as an offset.
  const Case c{{1, 1, 1, 1, 2}, {1, 1, 4}};
  const auto make = [&](const Sizes& s, float16* data) {
    return aclCreateTensor(s.data(), 5, ACL_FLOAT16, nullptr, 3 * kFar, ACL_FORMAT_NCDHW, s.data(), 5, data);
  };
  const Sizes out_sizes = c.out_sizes();
  aclTensor *output = make(out_sizes, large), *input = make(c.in, small);
  for (int i = 0; i < 4; ++i) large[3 * kFar + i] = float16::from(static_cast<float>(1 << i));
  const Ints out(c.out), in(c.in);
  ASSERT_EQ(call(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward, nullptr, output,
                 static_cast<const aclIntArray*>(out), static_cast<const aclIntArray*>(in), 0.0, 0.0, 0.0, input),
            0);
  EXPECT_EQ(static_cast<float>(small[3 * kFar]), 3);
  EXPECT_EQ(static_cast<float>(small[3 * kFar + 1]), 12);
  aclDestroyTensor(output);
  aclDestroyTensor(input);
  munmap(large, bytes);
  munmap(small, bytes);
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

// The results of both functions for the same values, as bits in the order N, C, D, H, W; a NaN is one NaN.
std::string digest(DataType dtype, const Case& c, aclFormat format) {
  Volume gradOut(dtype, c.out_sizes(), format), gradInput(dtype, c.in, format), self(dtype, c.in, format),
      out(dtype, c.out_sizes(), format);
  const std::vector<double> values = landmarks(dtype, random_values(1009, 14));
  gradOut.fill_volume(values);
  self.fill_volume(values);
  gradOut.upload();
  self.upload();
  EXPECT_EQ(backward(gradOut, c, gradInput), 0) << recent_error();
  EXPECT_EQ(forward(self, c.out, c.scales, out), 0) << recent_error();
  gradInput.download();
  out.download();
  std::string bits;
  for (const Volume* v : {&gradInput, &out})
    v->each([&](auto... i) {
      const int64_t at = v->at(i...);
      bits += std::isnan(v->get(at)) ? "NaN" : v->bits(at);
    });
  return bits;
}
const std::vector<Case> kDigested{{{2, 5, 3, 7, 67}, {6, 14, 134}},
                                  {{2, 5, 3, 7, 67}, {5, 11, 150}},
                                  {{1, 67, 3, 3, 9}, {12, 6, 36}},
                                  {{1, 3, 9, 9, 40}, {5, 4, 17}}};

TEST_F(UpsampleNearest3dOperators, same_bits_for_any_number_of_threads) {
  for (DataType dtype : kFloats)
    for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC}) {
      const Case c{{2, 5, 4, 8, 70}, {8, 16, 140}};
      std::vector<std::string> digests;
      for (const char* threads : {"1", "2", "3", "7"}) {
        setenv("DESCEND_THREADS", threads, 1);
        reread_environment();
        ASSERT_EQ(parallel_width(), std::atoi(threads));
        digests.push_back(digest(dtype, c, format));
      }
      unsetenv("DESCEND_THREADS");
      reread_environment();
      for (const std::string& d : digests) EXPECT_TRUE(d == digests[0]) << descend::name(dtype);
    }
}

TEST_F(UpsampleNearest3dOperators, same_bits_for_any_simd_target_and_format) {
  ASSERT_GE(cpu_targets().size(), 2u);  // SCALAR is always there to compare with
  for (DataType dtype : kFloats)
    for (const Case& c : kDigested) {
      const std::string expected = digest(dtype, c, ACL_FORMAT_NCDHW);
      for (std::string_view target : cpu_targets()) {
        ASSERT_TRUE(set_cpu_target(target));
        for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC})
          EXPECT_TRUE(digest(dtype, c, format) == expected)
              << describe_case(c) << descend::name(dtype) << " on " << target;
      }
      set_cpu_target({});
    }
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
}  // namespace descend::test
