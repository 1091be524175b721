// SPDX-License-Identifier: MIT
// What exp, expm1, log and scaling give bit by bit, on every SIMD target: special values, the ends of the range, and
// the same as the scalar rendering.
#include <gtest/gtest.h>

#include "tests/numerics/math_functions.h"

namespace descend {
namespace {

template <class T> void expect_special_values() {
  using L = std::numeric_limits<T>;
  const T infinity = L::infinity(), nan = L::quiet_NaN();
  const std::vector<T> x{T(0),  -T(0),           infinity,         -infinity, nan,     T(1),
                         T(-1), L::denorm_min(), -L::denorm_min(), -L::max(), L::max()};
  const auto expect = [&](Function which, std::vector<T> wanted) {
    const std::vector<T> got = evaluate(which, x);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(bits_of(got[i]), bits_of(wanted[i])) << "function " << which << " of " << x[i] << " is " << got[i];
  };
  const T e = static_cast<T>(2.71828182845904523536L);
  expect(kExp, {1, 1, infinity, 0, nan, e, static_cast<T>(0.36787944117144232160L), 1, 1, 0, infinity});
  expect(kExpm1, {0, -T(0), infinity, -1, nan, static_cast<T>(1.71828182845904523536L),
                  static_cast<T>(-0.63212055882855767840L), L::denorm_min(), -L::denorm_min(), -1, infinity});
  expect(kLog, {-infinity, -infinity, infinity, nan, nan, 0, nan,
                static_cast<T>(std::log(static_cast<long double>(L::denorm_min()))), nan, nan,
                static_cast<T>(std::log(static_cast<long double>(L::max())))});
}
TEST(math, special_values_are_exact) {
  for_each_target([] {
    expect_special_values<float>();
    expect_special_values<double>();
  });
}

template <class T> void expect_scaled_once() {
  using L = std::numeric_limits<T>;
  std::mt19937 random(3);
  std::vector<T> v, k;
  const int limit = 3 * (L::max_exponent - 2);
  for (int i = 0; i < 40000; ++i) {
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * L::max_exponent)) - L::max_exponent;
    v.push_back(std::ldexp(T(random()) / T(0x1p31), exponent) * (random() % 2 ? 1 : -1));
    // Half of them where the result is subnormal.
    const int wanted = i % 2 ? L::min_exponent - static_cast<int>(random() % (L::digits + 3)) - std::ilogb(v.back())
                             : static_cast<int>(random() % static_cast<unsigned>(2 * limit)) - limit;
    k.push_back(T(std::clamp(wanted, -limit, limit)));
  }
  for (const T special : {T(0), -T(0), L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(), L::max()})
    for (const int power : {-limit, -1, 0, 1, limit}) v.push_back(special), k.push_back(T(power));
  const std::vector<T> got = evaluate(kScale, v, k);
  for (size_t i = 0; i < v.size(); ++i)
    ASSERT_EQ(bits_of(got[i]), bits_of(std::ldexp(v[i], static_cast<int>(k[i])))) << v[i] << " * 2^" << k[i];
}
TEST(math, scaling_by_a_power_of_two_rounds_once) {
  for_each_target([] {
    expect_scaled_once<float>();
    expect_scaled_once<double>();
  });
}

TEST(math, parts_beyond_the_range_scale_to_nothing_or_infinity) {
  const float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  for_each_target([&] {
    const std::vector<float> x{-infinity, -largest, -300, 300, largest, infinity};
    const std::vector<float> m = evaluate(kExpPart, x), k = evaluate(kExpPartPower, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float factor = x[i] < 0 ? largest / 2 : std::numeric_limits<float>::denorm_min();
      const float scaled = evaluate<float>(kScale, {m[i] * factor}, {k[i]})[0];
      EXPECT_EQ(scaled, x[i] < 0 ? 0.0f : infinity) << x[i];
    }
  });
}

TEST(math, an_infinite_product_is_an_argument_like_any_other) {
  for_each_target([] {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{1e30f, -1e30f, infinity, -infinity}, y{1e30f, 1e30f, 2, 2};
    EXPECT_EQ(evaluate(kExpOfProduct, x, y), (std::vector<float>{infinity, 0, infinity, 0}));
    EXPECT_EQ(evaluate(kExpm1OfProduct, x, y), (std::vector<float>{infinity, -1, infinity, -1}));
    EXPECT_EQ(evaluate(kProductLow, x, y), (std::vector<float>(4, 0.0f)));
  });
}

template <class T> void expect_the_scalar_bits(const std::vector<T>& x, const std::vector<T>& y) {
  for (int which = 0; which < kFunctions; ++which) {
    const auto function = static_cast<Function>(which);
    std::vector<T> second = y;
    if (function == kScale)
      for (T& k : second) k = std::isfinite(k) ? std::nearbyint(std::fmod(k, T(370))) : T(0);
    const std::vector<T> got = evaluate(function, x, second);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(bits_of(got[i]), bits_of(evaluate_scalar(function, x[i], second[i])))
          << "function " << which << " of " << std::hexfloat << x[i] << ", " << second[i];
  }
}
TEST(math, every_target_gives_the_bits_of_the_scalar_rendering) {
  std::vector<float> floats = landmarks<float>();
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 99991)
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::vector<double> doubles = random_arguments<double>(20000), more = landmarks<double>();
  doubles.insert(doubles.end(), more.begin(), more.end());
  const std::vector<float> floats_back(floats.rbegin(), floats.rend());
  const std::vector<double> doubles_back(doubles.rbegin(), doubles.rend());
  for_each_target([&] {
    expect_the_scalar_bits(floats, floats_back);
    expect_the_scalar_bits(doubles, doubles_back);
  });
}

}  // namespace
}  // namespace descend
