// SPDX-License-Identifier: MIT
// The smooth L1 loss at chosen places, and what its sums and slopes must not lose.
#include "ops/smooth_l1_loss/smooth_l1_loss_test.h"

namespace descend::test::smooth_l1_loss {
namespace {

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

TEST_F(SmoothL1LossOperators, differences_that_lose_most_cost_a_loss_less_than_2_ulp) {
  // A difference loses most half way between two floats, and its square shows most of that at a mantissa of sqrt(2).
  constexpr int64_t kMantissas = 3000;
  const auto mantissa = [](Random& random, int64_t i) {
    const double near[] = {1, 2, std::sqrt(2), 1 + static_cast<double>(random.bits() % (1 << 23)) * 0x1p-23};
    return near[i % 4] + static_cast<double>(i / 8) * (i % 8 < 4 ? 0x1p-23 : -0x1p-23);
  };
  Tensor self(DataType::kFloat, {kMantissas}), target(DataType::kFloat, {kMantissas}),
      out(DataType::kFloat, {kMantissas});
  for (float beta : {1.0f, 0.25f, 8.0f, 0x1p-20f, 0x1p20f, 0x1p-21f, 0x1p21f, 0.7f})
    for (int exponent : {-120, -70, -62, -30, -12, -2, -1, 0, 1, 5, 30}) {
      Random random(9);
      for (int64_t i = 0; i < kMantissas; ++i) {
        const float x = static_cast<float>(std::ldexp(mantissa(random, i), exponent)) * beta;
        self.set(i, x);
        target.set(i, (i % 3 - 1) * (std::nextafter(x, 2 * x) - double{x}) * (0.5 - 0x1p-25));
      }
      self.upload();
      target.upload();
      ASSERT_EQ(forward(self, target, 0, beta, out), 0);
      out.download();
      for (int64_t i = 0; i < kMantissas; ++i) {
        const double x = std::abs(self.get(i) - target.get(i));
        const double loss = x < double{beta} ? x * x / 2 / double{beta} : x - double{beta} / 2;
        const double ulp = std::ldexp(1, std::max(std::ilogb(loss), -126) - 23);
        ASSERT_LE(std::abs(out.get(i) - loss), 1.92 * ulp)
            << "beta " << beta << ", self " << self.get(i) << ", target " << target.get(i);
      }
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
  // In float most of these slopes, or the differences already, are subnormal, with a bit or two left.
  for (int64_t gradients : {1, 2})
    for (float x : {0x1.8p-100f, 0x1.8p-130f, 0x1.8p-148f})
      for (float beta : {0x1.4p40f, 0x1p20f, 2.0f, 1.0f, 0x1.4p0f, 0.25f, 0x1p-20f}) {
        Tensor gradOut(DataType::kFloat, {gradients}), self(DataType::kFloat, {2}), target(DataType::kFloat, {2}),
            out(DataType::kFloat, {2});
        gradOut.fill({0x1p100});
        self.fill({x});
        target.fill({0});
        for (Tensor* t : {&gradOut, &self, &target}) t->upload();
        ASSERT_EQ(backward(gradOut, self, target, 0, beta, out), 0);
        out.download();
        const double exact = 0x1p100 * double{x} / double{beta};
        EXPECT_LE(ulps_apart(DataType::kFloat, out.get(1), double{static_cast<float>(exact)}), 1)
            << gradients << " gradients, x " << x << ", beta " << beta;
      }
}

TEST_F(SmoothL1LossOperators, of_no_elements_the_mean_is_nan_and_the_sum_is_0) {
  for (DataType t : kFloats)
    for (const Sizes& shape : {Sizes{0}, Sizes{3, 0}, Sizes{0, 5, 2}}) {
      Tensor self(t, shape), target(t, {1}), out(t, {1, 1});
      for (int64_t reduction : {1, 2}) {
        uint64_t workspace = 1;
        out.fill({7});
        target.upload();
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

}  // namespace
}  // namespace descend::test::smooth_l1_loss
