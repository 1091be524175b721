// SPDX-License-Identifier: MIT
// How near exp, expm1 and log come to the true value, on every SIMD target.
//
// DESCEND_TEST_STRIDE=1 makes accuracy_over_floats visit every float there is (some minutes) instead of a sample.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/numerics/math_functions.h"

namespace descend {
namespace {

// The bounds of docs/accuracy.md.
double bound(Function which, double wanted, double smallest_normal) {
  if (which == kExp) return std::fabs(wanted) < smallest_normal ? 0.75 : 0.57;
  return which == kExpm1 ? 0.60 : 0.64;
}

template <class Wide> Wide oracle(Function which, Wide x) {
  return which == kExp ? std::exp(x) : which == kExpm1 ? std::expm1(x) : std::log(x);
}

template <class T, class Wide> void expect_accurate(const std::vector<T>& x) {
  for (const Function which : {kExp, kExpm1, kLog}) {
    const std::vector<T> got = evaluate(which, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide wanted = oracle(which, Wide(x[i]));
      const double error = ulps(got[i], wanted);
      ASSERT_LE(error, bound(which, static_cast<double>(wanted), double{std::numeric_limits<T>::min()}))
          << "function " << which << " of " << std::hexfloat << x[i];
    }
  }
}

TEST(math, accuracy_over_floats) {
  const char* text = std::getenv("DESCEND_TEST_STRIDE");
  const uint64_t stride = text ? std::strtoull(text, nullptr, 10) : 49999;
  ASSERT_GT(stride, 0u);
  const auto visit = [&] {
    std::vector<float> x;
    for (uint64_t bits = 0; bits <= 0xffffffffu; bits += stride) {
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      if (x.size() < 65536 && bits + stride <= 0xffffffffu) continue;
      expect_accurate<float, double>(x);
      if (testing::Test::HasFatalFailure()) return;
      x.clear();
    }
  };
  stride == 1 ? visit() : for_each_target(visit);
}

TEST(math, accuracy_at_landmarks) {
  for_each_target([] {
    expect_accurate<float, double>(landmarks<float>());
    expect_accurate<double, long double>(landmarks<double>());
  });
}

TEST(math, accuracy_over_doubles) {
  const std::vector<double> x = random_arguments<double>(60000);
  for_each_target([&] { expect_accurate<double, long double>(x); });
}

TEST(math, the_parts_of_exp_make_exp) {
  std::vector<float> x;
  for (int i = -193000; i <= 193000; i += 7) x.push_back(static_cast<float>(i) * 1e-3f);
  for_each_target([&] {
    const std::vector<float> m = evaluate(kExpPart, x), low = evaluate(kExpPartLow, x), k = evaluate(kExpPartPower, x);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(k[i], std::nearbyint(k[i]));
      const double wanted = std::ldexp(std::exp(double{x[i]}), -static_cast<int>(k[i]));
      ASSERT_GT(m[i], 0.7f);
      ASSERT_LT(m[i], 1.42f);
      ASSERT_LE(ulps(m[i], wanted), 0.60) << x[i];
      ASSERT_LE(std::fabs(double{m[i]} + double{low[i]} - wanted), 0.1 * 0x1p-24) << x[i];
    }
  });
}

template <class T, class Wide> void expect_quick_is_accurate(const std::vector<T>& x) {
  const std::vector<T> p = evaluate(kQuickExp, x), k = evaluate(kQuickExpPower, x), e = evaluate(kQuickExpm1, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide negative = -(std::fabs(x[i]) < kQuickLimit ? std::fabs(x[i]) : T(kQuickLimit));
    ASSERT_EQ(k[i], std::nearbyint(k[i]));
    const Wide wanted = std::ldexp(std::exp(negative), -static_cast<int>(k[i])) - 1;
    ASSERT_LE(std::fabs(static_cast<Wide>(p[i]) - wanted), std::numeric_limits<T>::epsilon() / 2) << x[i];
    ASSERT_LE(ulps(e[i], std::expm1(negative)), 1.2) << x[i];
    ASSERT_TRUE(std::signbit(e[i]) || negative == 0);
  }
}
void expect_quick_is_accurate_for_halves(const std::vector<float>& x) {
  const std::vector<float> p = evaluate(kHalvesExp, x), k = evaluate(kQuickExpPower, x), e = evaluate(kHalvesExpm1, x);
  const std::vector<float> brief = evaluate(kBriefExp, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double negative = -std::fmin(std::fabs(x[i]), kQuickLimit);
    const double wanted = std::ldexp(std::exp(negative), -static_cast<int>(k[i])) - 1;
    ASSERT_LE(std::fabs(double{p[i]} - wanted), 0x1p-17) << x[i];
    ASSERT_LE(std::fabs(double{brief[i]} / (1 + wanted) - 1), scalar::kBriefExpError) << x[i];
    ASSERT_LE(std::fabs(double{e[i]} - std::expm1(negative)), -0x1p-15 * std::expm1(negative)) << x[i];
    ASSERT_TRUE(std::signbit(e[i]) || negative == 0);
  }
}
TEST(math, quick_functions_keep_their_bounds) {
  std::vector<float> floats = landmarks<float>();
  for (int i = 0; i <= 200000; ++i) floats.push_back(static_cast<float>(i) * (i % 2 ? 1e-3f : 1e-5f));
  for (uint64_t bits = 0; bits <= 0x7fffffffu; bits += 49999)
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::vector<double> doubles = landmarks<double>(), more = random_arguments<double>(20000);
  doubles.insert(doubles.end(), more.begin(), more.end());
  for_each_target([&] {
    expect_quick_is_accurate<float, double>(floats);
    expect_quick_is_accurate_for_halves(floats);
    expect_quick_is_accurate<double, long double>(doubles);
  });
}

TEST(math, exponentials_of_many_numbers_lose_nothing_by_the_difference_to_the_largest) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> unit(-1, 1);
  std::vector<float> largest, x, from_origin, bias_of_float;
  std::vector<double> rest, bias;
  for (int i = 0; i < 200000; ++i) {
    const float sizes[] = {1, 16, 530, std::ldexp(1.0f, i % 127), std::ldexp(1.0f, -(i % 150))};
    const float most = unit(random) * sizes[i / 127 % 5], below = std::fabs(unit(random)) * (i % 2 ? 155 : 3);
    const float one = i % 11 ? most - below : std::nextafter(most, -HUGE_VALF);
    if (one >= most || one - most < -155) continue;
    const scalar::LargestOfMany<kLiftOfMany> e(most);
    largest.push_back(most), x.push_back(one), from_origin.push_back(one - e.origin), bias_of_float.push_back(e.bias);
    rest.push_back(e.rest), bias.push_back(e.bias);
    ASSERT_EQ(double{one} - e.origin, double{from_origin.back()}) << most;
  }
  ASSERT_GT(x.size(), 80000u);
  for_each_target([&] {
    const std::vector<float> got = evaluate(kExpOfMany, from_origin, bias_of_float);
    const std::vector<double> factor = evaluate(kExpFactor, rest, bias);
    for (size_t i = 0; i < x.size(); ++i) {
      const double wanted = std::exp(double{x[i]} - double{largest[i]});
      ASSERT_LE(std::fabs(std::ldexp(got[i] * factor[i], -kLiftOfMany) / wanted - 1), 0x1.8p-24)
          << std::hexfloat << x[i] << " of " << largest[i];
    }
  });
}

TEST(math, an_argument_may_be_a_product) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> unit(-1, 1);
  std::vector<float> x, y;
  for (int i = 0; i < 50000; ++i) {
    x.push_back(unit(random) * (i % 2 ? 10.0f : 1.0f));
    y.push_back(unit(random) * (i % 3 ? 8.0f : 1.0f));
  }
  for_each_target([&] {
    const std::vector<float> exps = evaluate(kExpOfProduct, x, y), expm1s = evaluate(kExpm1OfProduct, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double argument = double{x[i]} * double{y[i]};  // exact
      ASSERT_LE(ulps(exps[i], std::exp(argument)), 0.57) << argument;
      ASSERT_LE(ulps(expm1s[i], std::expm1(argument)), 0.60) << argument;
    }
  });
}

}  // namespace
}  // namespace descend
