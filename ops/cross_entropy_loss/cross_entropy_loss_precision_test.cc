// SPDX-License-Identifier: MIT
// What the results of the cross entropy must not lose, and what they must add up to.
#include <bit>

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

TEST_F(CrossEntropyLossOperators, largest_scores_of_any_size_are_as_precise) {
  for (const char* reduction : {"none", "mean"})
    for (int64_t classes : {2, 7, 40, 130, 1001, 2500}) {
      Loss l({.rows = 12, .classes = classes, .reduction = reduction});
      constexpr double kLargest[] = {0x1p-140, 0.3, -88.8, 511.97, -512, 512.03, 667, -1e4, 1.3e6, -7e9, 1e22, -3.3e38};
      for (int64_t i = 0; i < l.input.size(); ++i)
        l.input.set(i, kLargest[i / classes] - static_cast<double>(i * 13 % 61) * (i / classes % 2 ? 2.63 : 0.07));
      l.input.upload();
      l.expect_right();
    }
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

// Rows that are logarithms of probabilities as the dtype holds them: the last class has what the others leave, and the
// largest score and the logarithm of the sum cancel almost.  In every other row all classes but the first and the last
// are equal: whatever their exponentials lose adds up.
void fill_with_log_probabilities(Loss& l) {
  Random random(7);
  const int64_t last = l.c.classes - 1;
  std::vector<double> share(static_cast<size_t>(last));
  for (int64_t row = 0; row < l.c.rows; ++row) {
    const double left = 0.02 + 0.4 * static_cast<double>(row) / static_cast<double>(l.c.rows);
    double sum = 0, rest = 1;
    for (double& each : share) each = row % 2 == 0 ? 1 : std::exp(random.next() / 16);
    share[0] = static_cast<double>(last);
    for (double each : share) sum += each;
    for (int64_t j = 0; j < last; ++j) {
      const int64_t at = row * l.c.classes + j;
      l.input.set(at, std::log((1 - left) * share[static_cast<size_t>(j)] / sum));
      rest -= std::exp(l.input.get(at));
    }
    l.input.set(row * l.c.classes + last, std::log(rest));
  }
  if (l.c.classes != 2) return;
  l.input.set(0, -0.53515625);
  l.input.set(1, -0.880859375);
}

double ulp_of_half(DataType dtype, double x) {
  const bool is_float16 = dtype == DataType::kFloat16;
  return std::ldexp(1.0, std::max(std::ilogb(x), is_float16 ? -14 : -126) - (is_float16 ? 10 : 7));
}

TEST_F(CrossEntropyLossOperators, lse_of_halves_is_precise_where_it_cancels) {
  // An exponential of float loses up to 2^-23 of itself, half of that in its series and half when it is rounded.  The
  // classes that are not the largest have about half of the sum, so that its logarithm loses 2^-24: an ulp of FLOAT16
  // where that is smallest, and of BF16 at 2^-17.  To this comes the rounding of a result, half an ulp.
  constexpr double kLost = 0x1p-24;
  const Variable variable("DESCEND_EXTENSIONS", "zloss");
  struct Effect {
    double scale;  // large, so that squares of small numbers show
    bool returned;
  };
  for (DataType dtype : {DataType::kFloat16, DataType::kBfloat16})
    for (int64_t classes : {2, 21, 32, 200, 700, 2000, 33001})
      for (double smoothing : {0.0, 0.1})
        for (const auto& [scale, returned] : {Effect{0x1p38, true}, Effect{0x1p38, false}, Effect{0, true}}) {
          const int64_t rows = classes < 10000 ? 64 : 3;
          Loss l({.rows = rows,
                  .classes = classes,
                  .dtype = dtype,
                  .reduction = "none",
                  .smoothing = smoothing,
                  .zloss = scale});
          l.returnZloss = returned;
          fill_with_log_probabilities(l);
          l.input.upload();
          ASSERT_EQ(l.run(), 0) << recent_error();
          l.download();
          Tensor input(DataType::kDouble, {rows, classes}), log_prob(DataType::kDouble, {rows, classes});
          Tensor loss(DataType::kDouble, {rows}), zloss(DataType::kDouble, {rows}), lse(DataType::kDouble, {rows});
          for (int64_t i = 0; i < input.size(); ++i) input.set(i, l.input.get(i));
          CrossEntropyLoss::Params p{input.on_host(), l.target.on_host(), nullptr,         "none",
                                     kIgnored,        smoothing,          scale,           true,
                                     loss.on_host(),  log_prob.on_host(), zloss.on_host(), lse.on_host()};
          find_operator("aclnnCrossEntropyLoss")->reference(&p);
          const auto error_of = [&](const Tensor& got, const Tensor& want, int64_t i) {
            return std::fabs(got.get(i) - want.get(i)) - ulp_of_half(dtype, want.get(i)) / 2;
          };
          for (int64_t i = 0; i < rows; ++i) {
            const double x = lse.get(i), of_square = scale * (2 * std::fabs(x) + kLost) * kLost;
            const std::string where = cat(l.c.words(), ", scale ", scale, ", row ", i, ", lse ", x);
            if (returned) {
              EXPECT_LE(error_of(l.lse, lse, i), kLost) << where;
              EXPECT_LE(error_of(l.zloss, zloss, i), of_square) << where;
            }
            EXPECT_LE(error_of(l.loss, loss, i), of_square + kLost) << where;
          }
        }
}

// The number with these bits.
double half_of_bits(DataType dtype, uint32_t bits) {
  if (dtype == DataType::kBfloat16) return std::bit_cast<float>(bits << 16);
  const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  const double size = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent != 31 ? std::ldexp(1024 + mantissa, exponent - 25)
                      : mantissa == 0  ? kInfinity
                                       : std::nan("");
  return bits >> 15 != 0 ? -size : size;
}

TEST_F(CrossEntropyLossOperators, label_of_halves_is_precise_for_numbers_of_all_sizes) {
  struct Size {
    int64_t classes, step;  // in pieces of 16 bytes, one by one, and of more than a tile
  };
  for (DataType dtype : {DataType::kFloat16, DataType::kBfloat16})
    for (const auto& [classes, step] : {Size{32, 3}, Size{33, 48}, Size{2056, 256}}) {
      Gradient g({.rows = 65536 / step, .classes = classes, .dtype = dtype, .reduction = "sum"});
      const auto place = [&](int64_t row) { return row * classes + row % classes; };
      for (int64_t row = 0; row < g.c.rows; ++row) {
        g.target.set_integer(row, row % classes);
        g.logProb.set(place(row), half_of_bits(dtype, static_cast<uint32_t>(row * step)));
      }
      g.upload();
      g.expect_right();
      // A float's element loses up to 2^-15 of itself before it is rounded.
      for (int64_t row = 0; row < g.c.rows; ++row) {
        const double x = g.logProb.get(place(row)), exact = g.gradLoss.get(0) * std::expm1(x),
                     got = g.out.get(place(row));
        if (!std::isfinite(got)) continue;  // where the reference has it so
        ASSERT_LE(std::fabs(got - exact), ulp_of_half(dtype, exact) / 2 + 0x1.01p-15 * std::fabs(exact)) << x;
      }
    }
}

}  // namespace
}  // namespace descend::test::cross_entropy_loss
