// SPDX-License-Identifier: MIT
// What the sums and quotients of the negative log likelihood loss must not lose, and what they are of nothing.
#include "ops/nll_loss/nll_loss_test.h"

namespace descend::test::nll_loss {
namespace {

TEST_F(NLLLossOperators, a_gradient_of_one_adds_up_to_minus_one) {
  for (const Sizes& self : {Sizes{3, 11, 8, 9}, Sizes{50, 11}})
    for (int64_t ignoreIndex : {-100, 3}) {
      Tensor x(DataType::kFloat, self), target(DataType::kInt32, positions_of(self)), weight(DataType::kFloat, {11}),
          loss(DataType::kFloat, {}), total(DataType::kFloat, {}), one(DataType::kFloat, {}),
          out(DataType::kFloat, self);
      fill_targets(target, 11);
      weight.fill({0.5, 1, 2, 0.25, 3});
      x.fill({-1, -2, -0.5});
      one.fill({1});
      for (Tensor* t : {&x, &target, &weight, &one}) t->upload();
      ASSERT_EQ(forward(x, target, weight, kMean, ignoreIndex, loss, total), 0);
      ASSERT_EQ(backward(one, x, target, weight, kMean, ignoreIndex, total, out), 0);
      out.download();
      double sum = 0;
      for (int64_t i = 0; i < out.size(); ++i) sum += out.get(i);
      EXPECT_NEAR(sum, -1, 1e-5);
    }
}

TEST_F(NLLLossOperators, gradient_is_the_slope_of_the_loss) {
  constexpr double kStep = 1e-3;  // the loss is a straight line
  for (const Sizes& shape : {Sizes{2, 4, 2, 3}, Sizes{6, 4}, Sizes{4}})
    for (int64_t reduction : {kMean, kSum}) {
      const Sizes positions = positions_of(shape);
      Tensor one(DataType::kFloat, {}), self(DataType::kFloat, shape), target(DataType::kInt64, positions),
          weight(DataType::kFloat, {4}), total(DataType::kFloat, {}), out(DataType::kFloat, shape);
      Tensor x(DataType::kDouble, shape), w(DataType::kDouble, {4}), loss(DataType::kDouble, {}),
          exact_total(DataType::kDouble, {});
      one.fill({1.5});
      for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, (i + 1) % 5);  // 4 is no class
      fill_random(x, 1);
      weight.fill({0.5, 2, 0.25, 1});
      w.fill({0.5, 2, 0.25, 1});
      const bool planes = shape.size() == 4;
      NLLLossParams p{x.on_host(), target.on_host(), w.on_host(), reduction, 3, loss.on_host(), exact_total.on_host()};
      const auto at = [&](int64_t i, double value) {
        const double kept = x.get(i);
        x.set(i, value);
        find_operator(planes ? "aclnnNLLLoss2d" : "aclnnNLLLoss")->reference(&p);
        x.set(i, kept);
        return loss.get(0);
      };
      at(0, x.get(0));
      total.set(0, exact_total.get(0));
      for (Tensor* t : {&one, &target, &weight, &total}) t->upload();
      ASSERT_EQ(backward(one, self, target, weight, reduction, 3, total, out), 0) << recent_error();
      out.download();
      double largest = 0;
      for (int64_t i = 0; i < x.size(); ++i) {
        const double slope = (at(i, x.get(i) + kStep) - at(i, x.get(i) - kStep)) / (2 * kStep);
        EXPECT_NEAR(out.get(i), 1.5 * slope, 1e-6) << "element " << i;
        largest = std::max(largest, std::fabs(slope));
      }
      EXPECT_GT(largest, 0.05);
    }
}

TEST_F(NLLLossOperators, of_nothing_counted_the_mean_is_nan_and_the_sums_are_0) {
  struct Nothing {
    Sizes self;
    int64_t target;
  };
  for (const Nothing& n : std::vector<Nothing>{{{2, 3, 2, 2}, 1},
                                               {{2, 3, 2, 2}, 3},
                                               {{0, 3, 2, 2}, 0},
                                               {{2, 0, 2, 2}, 0},
                                               {{0, 0, 0, 0}, 0},
                                               {{4, 3}, 1},
                                               {{4, 3}, -7},
                                               {{0, 3}, 0},
                                               {{0, 0}, 0},
                                               {{3}, 1}}) {
    const Sizes positions = positions_of(n.self);
    Tensor self(DataType::kFloat, n.self), target(DataType::kInt64, positions),
        weight(DataType::kFloat, {classes_of(n.self)}), out(DataType::kFloat, {1}), total(DataType::kFloat, {});
    self.fill({std::nan("")});  // not even looked at
    weight.fill({kInfinity});
    for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, n.target);
    for (int64_t reduction : {kMean, kSum}) {
      for (Tensor* t : {&self, &target, &weight, &out, &total}) t->upload();
      uint64_t workspace = 1;
      ASSERT_EQ(forward(self, target, weight, reduction, 1, out, total, &workspace), 0) << recent_error();
      EXPECT_EQ(workspace, 0u);
      out.download();
      total.download();
      EXPECT_EQ(total.get(0), 0);
      if (reduction == kMean)
        EXPECT_TRUE(std::isnan(out.get(0)));
      else
        EXPECT_EQ(out.get(0), 0);
    }
    Tensor losses(DataType::kFloat, positions), gradient(DataType::kFloat, n.self), one(DataType::kFloat, {1});
    one.fill({kInfinity});
    for (Tensor* t : {&one, &total, &losses, &gradient}) t->upload();
    ASSERT_EQ(forward(self, target, weight, kNone, 1, losses, total), 0) << recent_error();
    ASSERT_EQ(backward(one, self, target, weight, kMean, 1, total, gradient), 0) << recent_error();
    for (Tensor* t : {&losses, &gradient}) {
      t->download();
      for (int64_t i = 0; i < t->size(); ++i) ASSERT_EQ(t->bits(i), std::string(4, '\0'));
    }
  }
}

TEST_F(NLLLossOperators, a_total_of_0_divides_as_ieee_says) {
  for (const Sizes& self : {Sizes{1, 3, 1, 4}, Sizes{4, 3}}) {
    Tensor gradOutput(DataType::kFloat, {}), target(DataType::kUint8, positions_of(self)),
        weight(DataType::kFloat, {3}), total(DataType::kFloat, {}), out(DataType::kFloat, self);
    weight.fill({2, -1, 0});
    for (int64_t i = 0; i < 4; ++i) target.set_integer(i, i);
    for (double g : {1.0, -1.0, 0.0})
      for (double zero : {0.0, -0.0}) {
        gradOutput.fill({g});
        total.fill({zero});
        for (Tensor* t : {&gradOutput, &target, &weight, &total}) t->upload();
        ASSERT_EQ(backward(gradOutput, out, target, weight, kMean, -100, total, out), 0) << recent_error();
        out.download();
        for (int64_t position = 0; position < 4; ++position)
          for (int64_t c = 0; c < 3; ++c) {
            const double found = out.get(self.size() == 4 ? c * 4 + position : position * 3 + c);
            if (c != position)
              EXPECT_EQ(found, 0);
            else if (c == 2 || g == 0)
              EXPECT_TRUE(std::isnan(found));
            else
              EXPECT_EQ(found, -(g / zero * weight.get(c)));
          }
      }
  }
}

TEST_F(NLLLossOperators, means_of_numbers_at_the_ends_of_the_range_lose_nothing) {
  // In float the quotient would be subnormal, with a few bits left.
  Tensor g(DataType::kFloat, {}), self(DataType::kFloat, {1}), target(DataType::kInt64, {}),
      weight(DataType::kFloat, {1}), total(DataType::kFloat, {}), out(DataType::kFloat, {1});
  g.fill({0x1.8p-80});
  total.fill({0x1.4p66});
  weight.fill({0x1p100});
  target.fill({0});
  for (Tensor* t : {&g, &target, &weight, &total}) t->upload();
  ASSERT_EQ(backward(g, self, target, weight, kMean, -1, total, out), 0);
  out.download();
  EXPECT_EQ(out.get(0), double{static_cast<float>(-0x1.8p-80 / 0x1.4p66 * 0x1p100)});
}

TEST_F(NLLLossOperators, many_terms_are_added_without_loss) {
  // A float sum one after the other stops growing at 2^24.  One number in memory stands for all of a tensor's.
  constexpr int64_t kCount = 50'000'000;
  Tensor x(DataType::kFloat, {1}), t(DataType::kUint8, {1}), weight(DataType::kFloat, {1}), out(DataType::kFloat, {}),
      total(DataType::kFloat, {});
  x.fill({-1.1});
  t.fill({0});
  weight.fill({0.7});
  for (Tensor* each : {&x, &t, &weight}) each->upload();
  const int64_t shape[] = {kCount, 1}, strides[] = {0, 0};
  aclTensor* self = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 16, ACL_FORMAT_ND, shape, 2, x.device_data());
  aclTensor* target = aclCreateTensor(shape, 1, ACL_UINT8, strides, 16, ACL_FORMAT_ND, shape, 1, t.device_data());
  for (int64_t reduction : {kSum, kMean}) {
    ASSERT_EQ(call(aclnnNLLLossGetWorkspaceSize, aclnnNLLLoss, nullptr, self, target, weight.on_device(), reduction,
                   int64_t{-100}, out.on_device(), total.on_device()),
              0);
    out.download();
    total.download();
    const double sum = double{1.1f} * double{0.7f} * kCount;
    EXPECT_EQ(out.get(0), reduction == kMean ? double{1.1f} : double{static_cast<float>(sum)});
    EXPECT_EQ(total.get(0), double{static_cast<float>(double{0.7f} * kCount)});
  }
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyTensor(target), 0);
}

}  // namespace
}  // namespace descend::test::nll_loss
