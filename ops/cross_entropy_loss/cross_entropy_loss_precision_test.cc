// SPDX-License-Identifier: MIT
// What the results of the cross entropy must not lose, and what they must add up to.
#include "ops/cross_entropy_loss/cross_entropy_loss_test.h"

namespace descend::test::cross_entropy_loss {
namespace {

TEST_F(CrossEntropyLossOperators, coefficients_beyond_the_range_of_float_lose_nothing) {
  for (double smoothing : {0.0, 0.1})
    for (bool weighted : {false, true})
      for (double gradient : {1e38, 1e-38, 1e-44})
        for (double weight : {1e37, 1e-37}) {
          Gradient g({.rows = 9, .classes = 9, .reduction = "none", .smoothing = smoothing, .weighted = weighted});
          g.gradLoss.fill({gradient, -gradient});
          g.weight.fill({weight});
          g.logProb.fill({-3, -90, -170, -kInfinity, 5, -40, 80, 0});
          g.upload();
          g.expect_right();
        }
}

TEST_F(CrossEntropyLossOperators, probability_of_almost_1_keeps_its_gradient) {
  Gradient g({.rows = 1, .classes = 2, .reduction = "sum"});
  g.gradLoss.fill({1});
  for (double x : {-1e-3, -1e-7, -1e-12, -1e-30}) {
    g.logProb.fill({-30, x});
    g.target.set_integer(0, 1);
    g.upload();
    ASSERT_EQ(g.run(), 0);
    g.out.download();
    EXPECT_LE(ulps_apart(DataType::kFloat, g.out.get(1), std::expm1(static_cast<double>(static_cast<float>(x)))), 1);
  }
  Loss l({.rows = 1, .classes = 2, .reduction = "sum"});
  l.target.set_integer(0, 1);
  l.target.upload();
  for (double x : {5.0, 20.0, 60.0}) {
    l.input.fill({-x, x});
    l.input.upload();
    ASSERT_EQ(l.run(), 0);
    l.download();
    const double exact = std::log1p(std::exp(-2 * x));
    EXPECT_LE(ulps_apart(DataType::kFloat, l.loss.get(0), exact), 2) << x;
    EXPECT_LE(ulps_apart(DataType::kFloat, l.logProb.get(1), -exact), 2) << x;
  }
}

TEST_F(CrossEntropyLossOperators, gradient_is_the_slope_of_the_loss) {
  constexpr double kStep = 1e-4;
  for (const char* extension : {"", "zloss"}) {
    const Variable extensions("DESCEND_EXTENSIONS", extension);
    for (const char* reduction : {"mean", "sum", "none"})
      for (double smoothing : {0.0, 0.2})
        for (bool weighted : {false, true}) {
          const Case c{.rows = 6,
                       .classes = 5,
                       .reduction = reduction,
                       .smoothing = smoothing,
                       .weighted = weighted,
                       .zloss = *extension ? 0.05 : 0};
          Gradient g(c);
          g.gradZloss.fill({0});
          Tensor input(DataType::kDouble, {6, 5}), log_prob(DataType::kDouble, {6, 5}),
              loss(DataType::kDouble, c.loss_shape()), zloss(DataType::kDouble, c.loss_shape()),
              lse(DataType::kDouble, {6});
          Random random(11);
          for (int64_t i = 0; i < input.size(); ++i) input.set(i, random.next() / 8);
          CrossEntropyLoss::Params p{input.on_host(),
                                     g.target.on_host(),
                                     weighted ? g.weight.on_host() : nullptr,
                                     reduction,
                                     kIgnored,
                                     smoothing,
                                     c.zloss,
                                     true,
                                     loss.on_host(),
                                     log_prob.on_host(),
                                     zloss.on_host(),
                                     lse.on_host()};
          const auto* forward = find_operator("aclnnCrossEntropyLoss");
          forward->reference(&p);
          for (int64_t i = 0; i < input.size(); ++i) g.logProb.set(i, log_prob.get(i));
          if (c.zloss != 0)
            for (int64_t i = 0; i < 6; ++i) g.lse.set(i, lse.get(i));
          g.upload();
          ASSERT_EQ(g.run(), 0) << recent_error();
          g.out.download();
          const auto objective = [&](int64_t i, double x) {  // the loss, each number times its gradient
            const double kept = input.get(i);
            input.set(i, x);
            forward->reference(&p);
            input.set(i, kept);
            double sum = 0;
            for (int64_t k = 0; k < loss.size(); ++k) sum += loss.get(k) * g.gradLoss.get(k);
            return sum;
          };
          for (int64_t i = 0; i < input.size(); ++i) {
            const double x = input.get(i), slope = (objective(i, x + kStep) - objective(i, x - kStep)) / (2 * kStep);
            EXPECT_NEAR(g.out.get(i), slope, 2e-5) << c.words() << " " << extension << " element " << i;
          }
        }
  }
}

TEST_F(CrossEntropyLossOperators, rows_of_the_gradient_add_up_to_0) {
  for (double smoothing : {0.0, 0.1}) {
    const Case c{.rows = 20, .classes = 300, .smoothing = smoothing, .weighted = true};
    Loss l(c);
    Gradient g(c);
    ASSERT_EQ(l.run(), 0);
    l.download();
    for (int64_t i = 0; i < l.logProb.size(); ++i) g.logProb.set(i, l.logProb.get(i));
    g.upload();
    ASSERT_EQ(g.run(), 0);
    g.out.download();
    for (int64_t row = 0; row < 20; ++row) {
      double sum = 0, size = 0;
      for (int64_t j = 0; j < 300; ++j) sum += g.out.get(row * 300 + j), size += std::fabs(g.out.get(row * 300 + j));
      EXPECT_LE(std::fabs(sum), 1e-5 * size) << row;
    }
  }
}

TEST_F(CrossEntropyLossOperators, many_classes_are_as_precise_as_few) {
  for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{2, 128256}, {1, 100003}}) {
    const Case c{.rows = rows, .classes = classes, .smoothing = 0.1, .weighted = true};
    Gradient(c).expect_right();
    Loss(c).expect_right();
  }
  // All scores are equal: the loss is the logarithm of their number.
  Loss l({.rows = 1, .classes = 128256});
  l.input.fill({-7.3});
  l.input.upload();
  ASSERT_EQ(l.run(), 0);
  l.download();
  EXPECT_LE(ulps_apart(DataType::kFloat, l.loss.get(0), std::log(128256.0)), 1);
}

TEST_F(CrossEntropyLossOperators, small_rest_of_many_classes_keeps_its_precision) {
  // All but one score are equal, so that whatever their exponentials and sums lose adds up.
  for (int64_t classes : {2, 40, 1000, 5000})
    for (double distance : {4.7, 13.1, 33.3, 95.9, 101.3}) {
      Loss l({.rows = 1, .classes = classes});
      l.input.fill({1.2345678 - distance});
      l.input.set(1, 1.2345678);
      l.input.upload();
      l.expect_right();
    }
}

}  // namespace
}  // namespace descend::test::cross_entropy_loss
