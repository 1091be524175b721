// SPDX-License-Identifier: MIT
// The smooth L1 loss and its gradient through the C API, against their references.
#include "ops/smooth_l1_loss/smooth_l1_loss.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/targets.h"
#include "src/base/environment.h"
#include "tests/harness/call.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

const std::vector<DataType> kFloats{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};
// Everything a floating dtype converts to.
const std::vector<DataType> kOutputs{DataType::kFloat,     DataType::kFloat16,   DataType::kBfloat16,
                                     DataType::kDouble,    DataType::kComplex32, DataType::kComplex64,
                                     DataType::kComplex128};
const float kInfinity = std::numeric_limits<float>::infinity();
// None, one that no difference is below, usual ones, no short binary fraction, above every half, larger than anything.
const std::vector<float> kBetas{0, 0x1p-149f, 0.3f, 1, 4, 1e30f, kInfinity};

struct Shapes {
  Sizes gradOut, self, target, gradInput;
};
const std::vector<Shapes> kShapes{
    {{}, {}, {}, {}},
    {{1}, {5}, {5}, {5}},
    {{}, {7, 300}, {7, 300}, {7, 300}},
    {{7, 300}, {7, 300}, {7, 300}, {7, 300}},
    {{37, 1}, {29}, {1, 29}, {37, 29}},
    {{3, 1, 170}, {3, 4, 1}, {170}, {3, 4, 170}},
    {{2, 1, 3, 1, 2, 2, 1, 5}, {1, 5}, {3, 1, 2, 1, 4, 1}, {2, 1, 3, 1, 2, 2, 4, 5}},
    {{}, {0, 4}, {1, 4}, {0, 4}},
    {{0}, {3, 1}, {1}, {3, 0}},
};

DataType promotion(DataType a, DataType b) { return *promote(a, b); }

// FLOAT within 2 ulp as the contract wants, the half kinds within 1.  The kernel computes in double and rounds to float
// and, for the half kinds, once more, so that it is mostly the reference's own bits.
int64_t bound(DataType rounded) { return rounded == DataType::kFloat ? 2 : 1; }

void expect_close(const Tensor& out, const Tensor& expected, DataType rounded, const std::string& where) {
  ASSERT_TRUE(out.untouched_outside()) << where;
  for (int64_t i = 0; i < out.size(); ++i) {
    // The bound is of the coarser of the two dtypes a result was rounded to.
    const int64_t apart = std::min(ulps_apart(rounded, out.get(i), expected.get(i)),
                                   ulps_apart(out.part_type(), out.get(i), expected.get(i)));
    ASSERT_LE(apart, bound(rounded)) << where << ", element " << i << ": " << out.get(i) << ", the reference has "
                                     << expected.get(i);
    if (is_complex(out.dtype())) {
      ASSERT_EQ(out.get(i, 1), 0.0) << where << ", element " << i << ": the imaginary part";
    }
  }
}

// Lengths without a common factor: every pair of values meets in a large tensor.
std::vector<double> numbers(DataType t, size_t length, uint64_t seed) {
  std::vector<double> v = landmarks(t, {0.3f, -0.3f, 4, -4, 0.15, 1e-3, 2, 3});
  Random random(seed);
  while (v.size() < length) v.push_back(random.next());
  return v;
}

std::string describe_case(const std::vector<const Tensor*>& tensors, int64_t reduction, float beta) {
  std::string text;
  for (const Tensor* t : tensors) text += cat(descend::describe(*t->on_host()), " ");
  return cat(text, "reduction ", reduction, " beta ", beta);
}

int32_t backward(const Tensor& gradOut, const Tensor& self, const Tensor& target, int64_t reduction, float beta,
                 const Tensor& gradInput, uint64_t* workspace = nullptr) {
  return call(aclnnSmoothL1LossBackwardGetWorkspaceSize, aclnnSmoothL1LossBackward, workspace, gradOut.on_device(),
              self.on_device(), target.on_device(), reduction, beta, gradInput.on_device());
}
int32_t forward(const Tensor& self, const Tensor& target, int64_t reduction, float beta, const Tensor& result,
                uint64_t* workspace = nullptr) {
  return call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, workspace, self.on_device(), target.on_device(),
              reduction, beta, result.on_device());
}

struct Dtypes4 {
  DataType gradOut, self, target, gradInput;
};
struct Layouts4 {
  Layout gradOut = Layout::kContiguous, self = Layout::kContiguous, target = Layout::kContiguous,
         gradInput = Layout::kContiguous;
};

void check_backward(const Dtypes4& t, const Shapes& s, const Layouts4& l, int64_t reduction, float beta) {
  Tensor gradOut(t.gradOut, s.gradOut, l.gradOut), self(t.self, s.self, l.self), target(t.target, s.target, l.target);
  Tensor out(t.gradInput, s.gradInput, l.gradInput), expected(t.gradInput, s.gradInput, l.gradInput);
  const std::string where = describe_case({&gradOut, &self, &target, &out}, reduction, beta);
  gradOut.fill(numbers(t.gradOut, 53, 1), 13);  // a lone one is 0.3: 0 or NaN would hide the rest
  self.fill(numbers(t.self, 61, 2));
  target.fill(numbers(t.target, 47, 3), 6);
  for (Tensor* tensor : {&gradOut, &self, &target, &out}) tensor->upload();
  uint64_t workspace = 1;
  ASSERT_EQ(backward(gradOut, self, target, reduction, beta, out, &workspace), 0) << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  SmoothL1LossBackward::Params p{gradOut.on_host(), self.on_host(), target.on_host(),
                                 reduction,         beta,           expected.on_host()};
  find_operator("aclnnSmoothL1LossBackward")->reference(&p);
  expect_close(out, expected, promotion(promotion(t.gradOut, t.self), t.target), where);
}

void check_forward(DataType a, DataType b, DataType r, const Shapes& s, Layout la, Layout lb, Layout lr,
                   int64_t reduction, float beta, bool with_landmarks) {
  Sizes loss = reduction == 0 ? s.gradInput : Sizes{1, 1};
  Tensor self(a, s.self, la), target(b, s.target, lb), out(r, loss, lr), expected(r, loss, lr);
  const std::string where = describe_case({&self, &target, &out}, reduction, beta);
  self.fill(numbers(a, 61, 2));
  target.fill(numbers(b, 47, 3), 6);
  if (!with_landmarks)  // one infinity makes every sum infinite
    for (Tensor* t : {&self, &target}) {
      Random random(t == &self ? 4 : 5);
      for (int64_t i = 0; i < t->size(); ++i) t->set(i, random.next());
    }
  for (Tensor* tensor : {&self, &target, &out}) tensor->upload();
  uint64_t workspace = 1;
  ASSERT_EQ(forward(self, target, reduction, beta, out, &workspace), 0) << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  SmoothL1Loss::Params p{self.on_host(), target.on_host(), reduction, beta, expected.on_host()};
  find_operator("aclnnSmoothL1Loss")->reference(&p);
  expect_close(out, expected, promotion(a, b), where);
}

class SmoothL1LossOperators : public testing::Test {
  OnDevice on_device_;
};

TEST_F(SmoothL1LossOperators, gradient_agrees_with_the_reference_for_all_dtypes_and_betas) {
  const Sizes shape{61, 53};
  for (DataType g : kFloats)
    for (DataType s : kFloats)
      for (DataType t : kFloats)
        for (DataType out : kFloats)
          for (float beta : kBetas)
            check_backward({g, s, t, out}, {shape, shape, shape, shape}, {}, out == DataType::kFloat, beta);
}

TEST_F(SmoothL1LossOperators, gradient_agrees_with_the_reference_for_all_shapes_and_reductions) {
  for (const Shapes& shapes : kShapes)
    for (int64_t reduction : {0, 1, 2})
      for (DataType t : kFloats)
        for (float beta : kBetas) check_backward({t, t, t, t}, shapes, {}, reduction, beta);
}

TEST_F(SmoothL1LossOperators, gradient_agrees_with_the_reference_for_all_layouts) {
  size_t next = 0;  // the third input's layouts and the dtypes take turns
  for (const Shapes& shapes : kShapes)
    for (Layout a : all_layouts())
      for (Layout b : all_layouts())
        for (Layout o : output_layouts()) {
          const Layout c = all_layouts()[next % 6];
          const DataType t = kFloats[next % 3], other = kFloats[next / 3 % 3];
          check_backward({t, other, t, t}, shapes, {a, b, c, o}, static_cast<int64_t>(next % 2), 0.3f);
          next += 1 + (next % 6 == 5);  // so that they do not repeat in step with the loops
        }
}

TEST_F(SmoothL1LossOperators, loss_agrees_with_the_reference_for_all_dtypes_and_betas) {
  const Sizes shape{61, 53};
  for (DataType s : kFloats)
    for (DataType t : kFloats)
      for (DataType out : kOutputs)
        for (float beta : kBetas)
          for (int64_t reduction : {0, 1, 2})
            check_forward(s, t, out, {{}, shape, shape, shape}, Layout::kContiguous, Layout::kContiguous,
                          Layout::kContiguous, reduction, beta, reduction == 0);
}

TEST_F(SmoothL1LossOperators, loss_agrees_with_the_reference_for_all_layouts_and_shapes) {
  for (const Shapes& shapes : kShapes) {
    Shapes loss = shapes;
    const auto both =
        broadcast(Dims(shapes.self.data(), shapes.self.size()), Dims(shapes.target.data(), shapes.target.size()));
    loss.gradInput.assign(both->begin(), both->end());
    for (Layout a : all_layouts())
      for (Layout b : all_layouts())
        for (Layout o : output_layouts())
          for (int64_t reduction : {0, 1, 2}) {
            if (reduction != 0 && o != Layout::kContiguous) continue;  // one element has no layout
            for (DataType t : kFloats) check_forward(t, DataType::kFloat, t, loss, a, b, o, reduction, 0.3f, false);
          }
  }
}

TEST_F(SmoothL1LossOperators, infinities_and_nan_reach_the_sum) {
  Tensor self(DataType::kFloat, {2000}), target(DataType::kFloat, {}), out(DataType::kFloat, {});
  target.fill({1});
  target.upload();
  for (float special : {kInfinity, -kInfinity, std::nanf("")})
    for (int64_t reduction : {1, 2}) {
      self.fill({0.5});
      self.set(1234, special);
      self.upload();
      ASSERT_EQ(forward(self, target, reduction, 1, out), 0);
      out.download();
      EXPECT_EQ(std::isnan(out.get(0)), std::isnan(special));
      if (!std::isnan(special)) {
        EXPECT_EQ(out.get(0), kInfinity);
      }
    }
}

TEST_F(SmoothL1LossOperators, losses_that_float_does_not_hold_have_a_mean) {
  Tensor self(DataType::kFloat, {3}), target(DataType::kFloat, {3}), out(DataType::kFloat, {});
  self.fill({1, 2, 3e38});
  target.fill({1, 0, -3e38});
  self.upload();
  target.upload();
  ASSERT_EQ(forward(self, target, 1, 1, out), 0);
  out.download();
  EXPECT_LE(ulps_apart(DataType::kFloat, out.get(0), 2e38), 2);
}

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

TEST_F(SmoothL1LossOperators, slopes_at_the_landmarks) {
  struct Case {
    double x;
    float beta;
    double slope;
  };
  const double nan = std::nan("");
  for (const Case& c : std::vector<Case>{{0, 0, 0},
                                         {-0.0, 0, 0},
                                         {1e-30, 0, 1},
                                         {-1e-30, 0, -1},
                                         {1, 1, 1},
                                         {-1, 1, -1},
                                         {0.5, 1, 0.5},
                                         {-0.5, 2, -0.25},
                                         {0, 1, 0},
                                         {kInfinity, 1, 1},
                                         {-kInfinity, kInfinity, -1},
                                         {7, kInfinity, 0},
                                         {nan, 0, nan},
                                         {nan, 1, nan},
                                         {nan, kInfinity, nan}}) {
    Tensor gradOut(DataType::kFloat, {1}), self(DataType::kFloat, {3}), target(DataType::kFloat, {}),
        out(DataType::kFloat, {3});
    gradOut.fill({2});
    self.fill({c.x});
    target.fill({0});
    for (Tensor* t : {&gradOut, &self, &target}) t->upload();
    for (int64_t reduction : {0, 1, 2}) {
      ASSERT_EQ(backward(gradOut, self, target, reduction, c.beta, out), 0);
      out.download();
      const double expected = reduction == 1 ? c.slope * 2 / 3 : c.slope * 2;
      EXPECT_LE(ulps_apart(DataType::kFloat, out.get(2), static_cast<float>(expected)), 0)
          << "x " << c.x << " beta " << c.beta << ": " << out.get(2);
    }
  }
}

TEST_F(SmoothL1LossOperators, mean_counts_the_elements_of_the_loss_and_not_of_the_gradient) {
  Tensor gradOut(DataType::kFloat, {4, 3}), self(DataType::kFloat, {3}), target(DataType::kFloat, {}),
      out(DataType::kFloat, {4, 3});
  gradOut.fill({6});
  self.fill({5});
  target.fill({1});
  for (Tensor* t : {&gradOut, &self, &target}) t->upload();
  ASSERT_EQ(backward(gradOut, self, target, 1, 1, out), 0);
  out.download();
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.get(i), 2);  // 6 / 3
}

TEST_F(SmoothL1LossOperators, small_slopes_of_large_gradients_lose_nothing) {
  // In float the slope would be subnormal, with a bit or two left.
  Tensor gradOut(DataType::kFloat, {1}), self(DataType::kFloat, {1}), target(DataType::kFloat, {1}),
      out(DataType::kFloat, {1});
  gradOut.fill({0x1p100});
  self.fill({0x1.8p-100});
  target.fill({0});
  for (Tensor* t : {&gradOut, &self, &target}) t->upload();
  ASSERT_EQ(backward(gradOut, self, target, 0, 0x1.4p40f, out), 0);
  out.download();
  EXPECT_EQ(out.get(0), double{static_cast<float>(0x1.8p0 / 0x1.4p40)});
}

TEST_F(SmoothL1LossOperators, of_no_elements_the_mean_is_nan_and_the_sum_is_0) {
  for (DataType t : kFloats)
    for (const Sizes& shape : {Sizes{0}, Sizes{3, 0}, Sizes{0, 5, 2}}) {
      Tensor self(t, shape), target(t, {1}), out(t, {1, 1});
      for (int64_t reduction : {1, 2}) {
        uint64_t workspace = 1;
        out.fill({7});
        out.upload();
        ASSERT_EQ(forward(self, target, reduction, 1, out, &workspace), 0) << recent_error();
        EXPECT_EQ(workspace, 0u);
        out.download();
        if (reduction == 1)
          EXPECT_TRUE(std::isnan(out.get(0)));
        else
          EXPECT_EQ(out.get(0), 0);
      }
    }
}

TEST_F(SmoothL1LossOperators, gradient_is_the_slope_of_the_loss) {
  // Central differences of the reference in double, at points away from the corner of beta = 0.
  constexpr int64_t kCount = 40;
  constexpr double kStep = 1e-5;
  for (float beta : {0.0f, 0.5f, 1.0f, 3.0f})
    for (int64_t reduction : {1, 2}) {
      Tensor gradOut(DataType::kFloat, {}), self(DataType::kFloat, {kCount}), target(DataType::kFloat, {kCount}),
          out(DataType::kFloat, {kCount});
      Tensor exact(DataType::kDouble, {kCount}), exact_target(DataType::kDouble, {kCount}), loss(DataType::kDouble, {});
      gradOut.fill({1.5});
      Random random(8);
      for (int64_t i = 0; i < kCount; ++i) {
        self.set(i, random.next());
        target.set(i, self.get(i) + (i % 2 ? 0.1 : -0.1) * static_cast<double>(i + 1));
        exact.set(i, self.get(i));
        exact_target.set(i, target.get(i));
      }
      for (Tensor* t : {&gradOut, &self, &target}) t->upload();
      ASSERT_EQ(backward(gradOut, self, target, reduction, beta, out), 0);
      out.download();
      SmoothL1Loss::Params p{exact.on_host(), exact_target.on_host(), reduction, beta, loss.on_host()};
      const auto at = [&](int64_t i, double x) {
        const double kept = exact.get(i);
        exact.set(i, x);
        find_operator("aclnnSmoothL1Loss")->reference(&p);
        exact.set(i, kept);
        return loss.get(0);
      };
      for (int64_t i = 0; i < kCount; ++i) {
        const double x = exact.get(i), slope = (at(i, x + kStep) - at(i, x - kStep)) / (2 * kStep);
        EXPECT_NEAR(out.get(i), 1.5 * slope, 1e-4) << "beta " << beta << " reduction " << reduction << " element " << i;
      }
    }
}

TEST_F(SmoothL1LossOperators, many_terms_are_added_without_loss) {
  // A float sum one after the other stops growing at 2^24.
  constexpr int64_t kCount = 100'000'000;
  const int64_t shape[] = {kCount}, strides[] = {0};
  Tensor one(DataType::kFloat, {}), target(DataType::kFloat, {}), out(DataType::kFloat, {});
  one.fill({1.1});
  target.fill({0});
  one.upload();
  target.upload();
  aclTensor* self = aclCreateTensor(shape, 1, ACL_FLOAT, strides, 16, ACL_FORMAT_ND, shape, 1, one.device_data());
  ASSERT_EQ(call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, self, target.on_device(), int64_t{2},
                 0.0f, out.on_device()),
            0);
  out.download();
  EXPECT_EQ(out.get(0), double{static_cast<float>(double{1.1f} * kCount)});
  ASSERT_EQ(call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, self, target.on_device(), int64_t{1},
                 0.0f, out.on_device()),
            0);
  out.download();
  EXPECT_EQ(out.get(0), double{1.1f});
  EXPECT_EQ(aclDestroyTensor(self), 0);
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

TEST_F(SmoothL1LossOperators, beta_of_nan_fails_and_minus_zero_passes) {
  Tensor t(DataType::kFloat, {2}), out(DataType::kFloat, {2});
  t.fill({1});
  t.upload();
  EXPECT_EQ(backward(t, t, t, 0, std::nanf(""), out), 161002);
  EXPECT_NE(recent_error().find("aclnnSmoothL1LossBackward: beta must satisfy: is at least 0; it is nan"),
            std::string::npos);
  EXPECT_EQ(forward(t, t, 0, std::nanf(""), out), 161002);
  EXPECT_EQ(backward(t, t, t, 0, -0.0f, out), 0);
  EXPECT_EQ(forward(t, t, 0, -0.0f, out), 0);
  EXPECT_EQ(backward(t, t, t, -1, 1, out), 161002);
  EXPECT_EQ(forward(t, t, -1, 1, out), 161002);
}

// The results of both functions for the same values, as bits in logical order; a NaN is one NaN.
std::string digest(DataType dtype, const Sizes& shape, Layout in, Layout out) {
  Tensor gradOut(dtype, shape, in), self(dtype, shape, in), target(dtype, shape, out), result(dtype, shape, out),
      total(DataType::kFloat, {});
  gradOut.fill(numbers(dtype, 1009, 1), 500);
  self.fill(numbers(dtype, 1009, 2));
  target.fill(numbers(dtype, 1009, 3), 700);
  for (Tensor* t : {&gradOut, &self, &target}) t->upload();
  std::string bits;
  const auto keep = [&](int status, Tensor& t) {
    EXPECT_EQ(status, 0) << recent_error();
    t.download();
    for (int64_t i = 0; i < t.size(); ++i) bits += std::isnan(t.get(i)) ? "NaN" : t.bits(i);
  };
  keep(backward(gradOut, self, target, 1, 0.3f, result), result);
  keep(forward(self, target, 0, 0.3f, result), result);
  Random random(6);
  for (Tensor* t : {&self, &target}) {
    for (int64_t i = 0; i < t->size(); ++i) t->set(i, random.next());
    t->upload();
  }
  keep(forward(self, target, 1, 0.3f, total), total);
  keep(forward(self, target, 2, 0.3f, total), total);
  return bits;
}

TEST_F(SmoothL1LossOperators, same_bits_for_any_layout) {
  for (DataType dtype : kFloats)
    for (const Sizes& shape : {Sizes{1009}, Sizes{67, 129}, Sizes{3, 5, 7, 11}}) {
      const std::string expected = digest(dtype, shape, Layout::kContiguous, Layout::kContiguous);
      for (Layout in : output_layouts())  // broadcasting changes the values
        for (Layout out : output_layouts())
          ASSERT_TRUE(digest(dtype, shape, in, out) == expected)
              << descend::name(dtype) << " " << name(in) << " to " << name(out);
    }
}

TEST_F(SmoothL1LossOperators, same_bits_for_any_number_of_threads) {
  for (DataType dtype : kFloats) {
    std::vector<std::string> digests;
    for (const char* threads : {"1", "2", "3", "7"}) {
      setenv("DESCEND_THREADS", threads, 1);
      reread_environment();
      ASSERT_EQ(parallel_width(), std::atoi(threads));
      digests.push_back(digest(dtype, {700, 301}, Layout::kContiguous, Layout::kTransposed));
    }
    unsetenv("DESCEND_THREADS");
    reread_environment();
    for (const std::string& d : digests) EXPECT_TRUE(d == digests[0]) << descend::name(dtype);
  }
}

TEST_F(SmoothL1LossOperators, same_bits_for_any_simd_target) {
  ASSERT_GE(cpu_targets().size(), 2u);  // SCALAR is always there to compare with
  for (DataType dtype : kFloats) {
    const std::string expected = digest(dtype, {67, 129}, Layout::kContiguous, Layout::kContiguous);
    for (std::string_view target : cpu_targets()) {
      ASSERT_TRUE(set_cpu_target(target));
      for (Layout out : {Layout::kContiguous, Layout::kEverySecond})
        EXPECT_TRUE(digest(dtype, {67, 129}, Layout::kContiguous, out) == expected)
            << descend::name(dtype) << " on " << target;
    }
    set_cpu_target({});
  }
}

// Valid calls, from which tests/spec_test.cc makes a failing one for every rule.
[[maybe_unused]] const bool sampled[] = {
    add_sample<SmoothL1Loss>("aclnnSmoothL1Loss",
                             [](Sample& s) -> SmoothL1Loss::Params {
                               return {s.tensor(DataType::kFloat, {2, 3}), s.tensor(DataType::kFloat, {3}), 0, 1,
                                       s.tensor(DataType::kFloat, {2, 3})};
                             }),
    // No input's shape is another's: each rule on shapes can be broken alone.
    add_sample<SmoothL1LossBackward>("aclnnSmoothL1LossBackward",
                                     [](Sample& s) -> SmoothL1LossBackward::Params {
                                       return {s.tensor(DataType::kFloat, {2, 1}),
                                               s.tensor(DataType::kFloat, {1, 3}),
                                               s.tensor(DataType::kFloat, {2, 3}),
                                               1,
                                               1,
                                               s.tensor(DataType::kFloat, {2, 3})};
                                     }),
};

}  // namespace
}  // namespace descend::test
