// SPDX-License-Identifier: MIT
// ELU through the C API, against its reference.
#include "ops/elu/elu.h"

#include <gtest/gtest.h>

#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "tests/harness/call.h"
#include "tests/harness/dtypes.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

struct Numbers {
  double alpha, scale, inputScale;
};
// The usual ones, SELU's, some that are no short binary fractions, a negative input scale, zeros.
const std::vector<Numbers> kNumbers{{1, 1, 1},          {1.6732632423543772, 1.0507009873554805, 1},
                                    {0.3, 0.7, 1.1},    {1.3, 0.9, -0.4},
                                    {0.17, 0.17, -0.5}, {0, 1, 1},
                                    {1, 0, 0}};

const std::vector<Sizes> kShapes{{},     {1},      {5},     {7, 300}, {3, 1, 170}, {2, 1, 3, 1, 2, 2, 1, 5},
                                 {0, 4}, {37, 29}, {24, 72}};

// FLOAT and DOUBLE within 2 ulp: one rounding in the exponential (0.6 ulp at most) and one in the product, each worth
// up to an ulp of the result.  The half kinds are computed in float and rounded once: 1 ulp only where float's own
// error crosses the middle between two of them.
int64_t bound(DataType rounded) { return rounded == DataType::kFloat || rounded == DataType::kDouble ? 2 : 1; }

// Compares out with what the reference wrote over host memory.
// Elements for which `skip` is true are left out.
template <class Skip>
void expect_close(const Tensor& out, const Tensor& expected, DataType rounded, const std::string& where,
                  const Skip& skip) {
  ASSERT_TRUE(out.untouched_outside()) << where;
  const bool complex = is_complex(out.dtype());
  // The bound is of the coarser of the two dtypes a result was rounded to.
  const auto apart = [&](int64_t i) {
    return std::min(ulps_apart(rounded, out.get(i), expected.get(i)),
                    ulps_apart(out.part_type(), out.get(i), expected.get(i)));
  };
  for (int64_t i = 0; i < out.size(); ++i) {
    if (skip(i)) continue;
    ASSERT_LE(apart(i), bound(rounded)) << where << ", element " << i << ": " << out.get(i) << ", the reference has "
                                        << expected.get(i);
    if (complex) {
      ASSERT_EQ(out.get(i, 1), 0.0) << where << ", element " << i << ": the imaginary part";
    }
  }
}

// Values of x: landmarks, where exp ends, ELU's own thresholds, and random numbers.
std::vector<double> inputs(DataType t, const Numbers& n, uint64_t seed) {
  std::vector<double> v =
      landmarks(t, {-n.alpha * n.scale, -87.5, -104, -110, 89, -1e-3, 1e-3, -0.5, -17.25, -120, -121, -184.25});
  Random random(seed);
  while (v.size() < 151) v.push_back(random.next());
  return v;
}
std::vector<double> gradients(DataType t, uint64_t seed) {
  std::vector<double> v = landmarks(t);
  Random random(seed);
  while (v.size() < 97) v.push_back(random.next());  // 97 and 151 share no factor: every pair meets in a large tensor
  return v;
}

std::string describe_case(DataType in, DataType out, const Sizes& shape, Layout a, Layout b, Layout o,
                          const Numbers& n) {
  return cat(descend::name(in), " to ", descend::name(out), descend::describe(Dims(shape.data(), shape.size())), ", ",
             name(a), " and ", name(b), " to ", name(o), ", alpha ", n.alpha, " scale ", n.scale, " inputScale ",
             n.inputScale);
}

void check_backward(DataType in, DataType result, const Sizes& shape, Layout a, Layout b, Layout o, const Numbers& n,
                    bool is_result) {
  const std::string where = describe_case(in, result, shape, a, b, o, n) + (is_result ? ", from the result" : "");
  Tensor gradOutput(in, shape, a), self(in, shape, b), out(result, shape, o), expected(result, shape, o);
  gradOutput.fill(gradients(in, 1));
  self.fill(inputs(in, n, 2));
  for (Tensor* t : {&gradOutput, &self, &out}) t->upload();
  const Scalar alpha(n.alpha), scale(n.scale), inputScale(n.inputScale);
  uint64_t workspace = 1;
  ASSERT_EQ(call(aclnnEluBackwardGetWorkspaceSize, aclnnEluBackward, &workspace, gradOutput.on_device(), alpha, scale,
                 inputScale, is_result, self.on_device(), out.on_device()),
            0)
      << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  EluBackward::Params p{gradOutput.on_host(), alpha, scale, inputScale, is_result, self.on_host(), expected.on_host()};
  find_operator("aclnnEluBackward")->reference(&p);
  // From the result, a slope that float cannot hold is infinite (ELU's result is no such number).
  expect_close(out, expected, in, where, [&](int64_t i) {
    const double v = self.get(i), slope = n.inputScale * (v + n.alpha * n.scale);
    return is_result && v <= 0 && std::isfinite(v) && std::fabs(slope) > std::numeric_limits<float>::max();
  });
}

void check_forward(DataType in, DataType result, const Sizes& shape, const View& view, Layout o, const Numbers& n,
                   const std::string& where) {
  Tensor self(in, shape, view), out(result, shape, o), expected(result, shape, o);
  self.fill(inputs(in, n, 3));
  self.upload();
  out.upload();
  const DataType number = in == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  const Scalar alpha(n.alpha, number), scale(n.scale, number), inputScale(n.inputScale, number);
  uint64_t workspace = 1;
  ASSERT_EQ(
      call(aclnnEluGetWorkspaceSize, aclnnElu, &workspace, self.on_device(), alpha, scale, inputScale, out.on_device()),
      0)
      << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  Elu::Params p{self.on_host(), alpha, scale, inputScale, expected.on_host()};
  find_operator("aclnnElu")->reference(&p);
  expect_close(out, expected, in, where, [](int64_t) { return false; });
}
void check_forward(DataType in, DataType result, const Sizes& shape, Layout a, Layout o, const Numbers& n) {
  check_forward(in, result, shape, lay_out(shape, a), o, n, describe_case(in, result, shape, a, a, o, n));
}

class EluOperators : public testing::Test {
  OnDevice on_device_;
};

TEST_F(EluOperators, gradient_agrees_with_the_reference_for_all_dtypes_and_numbers) {
  for (DataType in : kFloats)
    for (DataType out : kOutputs)
      for (const Numbers& n : kNumbers)
        for (bool is_result : {false, true})
          check_backward(in, out, {97, 151}, Layout::kContiguous, Layout::kContiguous, Layout::kContiguous, n,
                         is_result);
}

// Two dimensions of stride 1: neither is the one along which vectors may be read.
TEST_F(EluOperators, elements_of_an_input_may_share_memory) {
  for (DataType in : kFloatsAndDouble)
    for (const View& view : {View{{1, 1, 16}, 0, 121}, View{{16, 1, 1}, 0, 121}, View{{1, 16, 1}, 0, 31}})
      check_forward(
          in, in, {8, 2, 8}, view, Layout::kContiguous, kNumbers[2],
          cat(descend::name(in), " with strides ", view.strides[0], " ", view.strides[1], " ", view.strides[2]));
}

// A test for each layout of the first input: all in one take minutes under compute-sanitizer.
class EluOperatorsOfLayout : public EluOperators, public testing::WithParamInterface<Layout> {};
TEST_P(EluOperatorsOfLayout, gradient_agrees_with_the_reference_for_all_others_and_shapes) {
  for (const Sizes& shape : kShapes)
    for (Layout b : all_layouts())
      for (Layout o : output_layouts())
        for (DataType in : kFloats)
          check_backward(in, in, shape, GetParam(), b, o, kNumbers[2], (shape.size() & 1) != 0);
}
INSTANTIATE_TEST_SUITE_P(each, EluOperatorsOfLayout, testing::ValuesIn(all_layouts()),
                         [](const auto& test) { return identifier(test.param); });

// So large that a block of a GPU has several tiles, and not a whole number of them at the edges.
TEST_F(EluOperators, gradient_agrees_with_the_reference_for_large_transposed_matrices) {
  constexpr Layout kAlong = Layout::kContiguous, kAcross = Layout::kTransposed;
  for (DataType in : {DataType::kFloat, DataType::kFloat16})
    for (const auto& [a, b] : {std::pair{kAlong, kAcross}, {kAcross, kAlong}, {kAcross, kAcross}})
      check_backward(in, in, {1672, 2824}, a, b, kAlong, kNumbers[0], false);
}

TEST_F(EluOperators, value_agrees_with_the_reference_for_all_dtypes_and_numbers) {
  for (DataType in : kFloatsAndDouble)
    for (DataType out : kOutputs)
      for (const Numbers& n : kNumbers) check_forward(in, out, {997}, Layout::kContiguous, Layout::kContiguous, n);
}

TEST_F(EluOperators, value_agrees_with_the_reference_for_all_layouts_and_shapes) {
  for (const Sizes& shape : kShapes)
    for (Layout a : all_layouts())
      for (Layout o : output_layouts())
        for (DataType in : kFloatsAndDouble) check_forward(in, in, shape, a, o, kNumbers[2]);
}

TEST_F(EluOperators, in_place_gives_the_bits_of_out_of_place) {
  for (DataType t : kFloatsAndDouble)
    for (Layout layout : output_layouts()) {
      Tensor self(t, {31, 33}, layout), out(t, {31, 33}, layout);
      self.fill(inputs(t, kNumbers[2], 4));
      self.upload();
      out.upload();
      const Scalar alpha(0.3), scale(0.7), inputScale(1.1);
      ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, self.on_device(), alpha, scale, inputScale,
                     out.on_device()),
                0);
      ASSERT_EQ(
          call(aclnnInplaceEluGetWorkspaceSize, aclnnInplaceElu, nullptr, self.on_device(), alpha, scale, inputScale),
          0);
      self.download();
      out.download();
      ASSERT_TRUE(self.untouched_outside());
      for (int64_t i = 0; i < out.size(); ++i)
        if (!std::isnan(out.get(i))) {
          ASSERT_EQ(self.bits(i), out.bits(i)) << descend::name(t) << " element " << i;
        }
    }
}

TEST_F(EluOperators, gradient_may_be_written_over_either_input) {
  for (bool over_self : {false, true}) {
    Tensor gradOutput(DataType::kFloat, {1000}), self(DataType::kFloat, {1000}), out(DataType::kFloat, {1000});
    gradOutput.fill(gradients(DataType::kFloat, 5));
    self.fill(inputs(DataType::kFloat, kNumbers[0], 6));
    gradOutput.upload();
    self.upload();
    const Scalar one(1);
    Tensor& written = over_self ? self : gradOutput;
    for (aclTensor* result : {out.on_device(), written.on_device()}) {
      uint64_t workspace = 1;
      ASSERT_EQ(call(aclnnEluBackwardGetWorkspaceSize, aclnnEluBackward, &workspace, gradOutput.on_device(), one, one,
                     one, false, self.on_device(), result),
                0);
      ASSERT_EQ(workspace, 0u);
    }
    out.download();
    written.download();
    for (int64_t i = 0; i < out.size(); ++i)
      if (!std::isnan(out.get(i))) {
        ASSERT_EQ(written.bits(i), out.bits(i)) << i;
      }
  }
}

TEST_F(EluOperators, output_that_overlaps_an_input_in_part_reads_it_completely_first) {
  // out is self moved on by one element: written in order it would feed on itself.
  constexpr int64_t kCount = 100000;
  Tensor memory(DataType::kFloat, {kCount + 1}), separate(DataType::kFloat, {kCount});
  memory.fill(inputs(DataType::kFloat, kNumbers[0], 7));
  memory.upload();
  const int64_t shape[] = {kCount};
  void* data;
  int64_t offset;
  ASSERT_EQ(aclGetRawTensorAddr(memory.on_device(), &data), 0);
  ASSERT_EQ(aclGetViewOffset(memory.on_device(), &offset), 0);
  aclTensor* self = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, offset, ACL_FORMAT_ND, shape, 1, data);
  aclTensor* out = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, offset + 1, ACL_FORMAT_ND, shape, 1, data);
  const Scalar one(1);
  uint64_t workspace = 0;
  ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, self, one, one, one, separate.on_device()), 0);
  ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, &workspace, self, one, one, one, out), 0) << recent_error();
  EXPECT_GE(workspace, kCount * sizeof(float));
  memory.download();
  separate.download();
  for (int64_t i = 0; i < kCount; ++i)
    if (!std::isnan(separate.get(i))) {
      ASSERT_EQ(memory.bits(i + 1), separate.bits(i)) << i;
    }
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyTensor(out), 0);
}

TEST_F(EluOperators, interleaved_views_need_no_workspace) {
  // Even elements in, odd elements out: one range of memory, no byte shared.
  Tensor memory(DataType::kFloat, {200});
  memory.fill({1, -1, 2, -2});
  memory.upload();
  const int64_t shape[] = {100}, strides[] = {2};
  void* data;
  int64_t offset;
  ASSERT_EQ(aclGetRawTensorAddr(memory.on_device(), &data), 0);
  ASSERT_EQ(aclGetViewOffset(memory.on_device(), &offset), 0);
  aclTensor* even = aclCreateTensor(shape, 1, ACL_FLOAT, strides, offset, ACL_FORMAT_ND, shape, 1, data);
  aclTensor* odd = aclCreateTensor(shape, 1, ACL_FLOAT, strides, offset + 1, ACL_FORMAT_ND, shape, 1, data);
  const Scalar one(1);
  uint64_t workspace = 1;
  ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, &workspace, even, one, one, one, odd), 0);
  EXPECT_EQ(workspace, 0u);
  memory.download();
  EXPECT_EQ(memory.get(1), 1);
  EXPECT_EQ(memory.get(3), 2);
  EXPECT_EQ(aclDestroyTensor(even), 0);
  EXPECT_EQ(aclDestroyTensor(odd), 0);
}

TEST_F(EluOperators, nan_takes_the_positive_branch_of_the_gradient) {
  Tensor gradOutput(DataType::kFloat, {2}), self(DataType::kFloat, {2}), out(DataType::kFloat, {2});
  gradOutput.fill({3});
  self.fill({std::nan("")});
  gradOutput.upload();
  self.upload();
  const Scalar one(1), two(2);
  for (bool is_result : {false, true}) {
    ASSERT_EQ(call(aclnnEluBackwardGetWorkspaceSize, aclnnEluBackward, nullptr, gradOutput.on_device(), one, two, one,
                   is_result, self.on_device(), out.on_device()),
              0);
    out.download();
    EXPECT_EQ(out.get(0), 6);
  }
}

TEST_F(EluOperators, alpha_of_minus_zero_or_nan_passes_with_is_result) {
  Tensor t(DataType::kFloat, {2}), out(DataType::kFloat, {2});
  t.fill({1});
  t.upload();
  const Scalar one(1), minus_zero(-0.0), nan(std::nan("")), negative(-1);
  const auto backward = [&](const aclScalar* alpha, bool is_result) {
    return call(aclnnEluBackwardGetWorkspaceSize, aclnnEluBackward, nullptr, t.on_device(), alpha, one, one, is_result,
                t.on_device(), out.on_device());
  };
  EXPECT_EQ(backward(minus_zero, true), 0);
  EXPECT_EQ(backward(nan, true), 0);
  EXPECT_EQ(backward(negative, false), 0);
  EXPECT_EQ(backward(negative, true), 161002);
  EXPECT_NE(recent_error().find("aclnnEluBackward: alpha must satisfy: is not negative when isResult is true"),
            std::string::npos);
}

TEST_F(EluOperators, scalars_may_be_of_any_real_dtype) {
  Tensor self(DataType::kFloat, {1}), out(DataType::kFloat, {1});
  self.fill({2});
  self.upload();
  const Scalar one(1);
  for (DataType t : {DataType::kFloat, DataType::kDouble, DataType::kFloat16, DataType::kBfloat16, DataType::kInt8,
                     DataType::kInt16, DataType::kInt32, DataType::kInt64, DataType::kUint8, DataType::kUint16,
                     DataType::kUint32, DataType::kUint64}) {
    const Scalar scale(3, t);
    ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, self.on_device(), one, scale, one, out.on_device()), 0);
    out.download();
    EXPECT_EQ(out.get(0), 6) << descend::name(t);
  }
  const Scalar yes(1, DataType::kBool);
  ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, self.on_device(), one, yes, one, out.on_device()), 0);
  out.download();
  EXPECT_EQ(out.get(0), 2);
}

// Valid calls, from which tests/spec_test.cc makes a failing one for every rule.
[[maybe_unused]] const bool sampled[] = {
    add_sample<Elu>("aclnnElu",
                    [](Sample& s) -> Elu::Params {
                      return {s.tensor(DataType::kFloat, {2, 3}), s.number(1), s.number(1), s.number(1),
                              s.tensor(DataType::kFloat, {2, 3})};
                    }),
    add_sample<InplaceElu>("aclnnInplaceElu",
                           [](Sample& s) -> InplaceElu::Params {
                             return {s.tensor(DataType::kFloat, {2, 3}), s.number(1), s.number(1), s.number(1)};
                           }),
    add_sample<EluBackward>("aclnnEluBackward",
                            [](Sample& s) -> EluBackward::Params {
                              return {s.tensor(DataType::kFloat, {2, 3}),
                                      s.number(1),
                                      s.number(1),
                                      s.number(1),
                                      false,
                                      s.tensor(DataType::kFloat, {2, 3}),
                                      s.tensor(DataType::kFloat, {2, 3})};
                            }),
};

}  // namespace
}  // namespace descend::test
