// SPDX-License-Identifier: MIT
// exp, expm1 and log on every SIMD target: accuracy, special values, and the same bits as the scalar rendering.
//
// DESCEND_TEST_STRIDE=1 makes accuracy_over_floats visit every float there is (some minutes) instead of a sample.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/numerics/math_test.cc"
#include <hwy/foreach_target.h>

#include "src/loops/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

inline constexpr int quick_limit = 190;

// out[i] = the which-th function of a[i], b[i]; n is a multiple of every vector's length.
template <class T> void evaluate(int which, int64_t n, const T* a, const T* b, T* out) {
  const hn::ScalableTag<T> d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i);
    auto result = x, k = x, low = x;
    // What the quick functions are for.
    const auto limit = hn::Set(d, T(quick_limit)), size = hn::Abs(x);
    const auto negative = hn::Neg(hn::IfThenElse(hn::Lt(size, limit), size, limit));
    if (which == 0) result = exp(d, x);
    if (which == 1) result = expm1(d, x);
    if (which == 2) result = log(d, x);
    if (which == 3) result = scale_by_power_of_two(d, x, y);
    if (which == 4) result = exp_parts(d, x, hn::Zero(d), k, low);
    if (which == 5) exp_parts(d, x, hn::Zero(d), k, result);
    if (which == 6) exp_parts(d, x, hn::Zero(d), result, low);
    if (which == 7) result = two_product(d, x, y, low);
    if (which == 8) two_product(d, x, y, result);
    if (which == 9) result = two_product(d, x, y, low), result = exp(d, result, low);
    if (which == 10) result = two_product(d, x, y, low), result = expm1(d, result, low);
    if (which == 11) result = quick_exp_parts(d, negative, k);
    if (which == 12) quick_exp_parts(d, negative, result);
    if (which == 13) result = quick_expm1_of_negative(d, negative);
    hn::StoreU(result, d, out + i);
  }
}
void EvaluateFloat(int which, int64_t n, const float* a, const float* b, float* out) { evaluate(which, n, a, b, out); }
void EvaluateDouble(int which, int64_t n, const double* a, const double* b, double* out) {
  evaluate(which, n, a, b, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "src/loops/math_scalar.h"
#include "tests/numerics/targets.h"

namespace descend {
namespace {

HWY_EXPORT(EvaluateFloat);
HWY_EXPORT(EvaluateDouble);

enum Function {
  kExp,
  kExpm1,
  kLog,
  kScale,
  kExpPart,
  kExpPartLow,
  kExpPartPower,
  kProduct,
  kProductLow,
  kExpOfProduct,
  kExpm1OfProduct,
  kQuickExp,
  kQuickExpPower,
  kQuickExpm1,
  kFunctions
};

template <class T> std::vector<T> evaluate(Function which, std::vector<T> a, std::vector<T> b = {}) {
  const size_t n = a.size(), padded = (n + 63) / 64 * 64;
  a.resize(padded);
  b.resize(padded);
  std::vector<T> out(padded);
  if constexpr (std::is_same_v<T, float>)
    HWY_DYNAMIC_DISPATCH(EvaluateFloat)(which, static_cast<int64_t>(padded), a.data(), b.data(), out.data());
  else
    HWY_DYNAMIC_DISPATCH(EvaluateDouble)(which, static_cast<int64_t>(padded), a.data(), b.data(), out.data());
  out.resize(n);
  return out;
}

template <class T> T evaluate_scalar(Function which, T x, T y) {
  const scalar::Math<T> o;
  const T negative = -(std::fabs(x) < 190 ? std::fabs(x) : T(190));
  T k, low;
  switch (which) {
    case kExp:
      return scalar::exp(o, x);
    case kExpm1:
      return scalar::expm1(o, x);
    case kLog:
      return scalar::log(o, x);
    case kScale:
      return scalar::scale_by_power_of_two(o, x, y);
    case kExpPart:
      return scalar::exp_parts(o, x, T{0}, k, low);
    case kExpPartLow:
      scalar::exp_parts(o, x, T{0}, k, low);
      return low;
    case kExpPartPower:
      scalar::exp_parts(o, x, T{0}, k, low);
      return k;
    case kProduct:
      return scalar::two_product(o, x, y, low);
    case kProductLow:
      scalar::two_product(o, x, y, low);
      return low;
    case kExpOfProduct:
      x = scalar::two_product(o, x, y, low);
      return scalar::exp(o, x, low);
    case kQuickExp:
      return scalar::quick_exp_parts(o, negative, k);
    case kQuickExpPower:
      scalar::quick_exp_parts(o, negative, k);
      return k;
    case kQuickExpm1:
      return scalar::quick_expm1_of_negative(o, negative);
    default:
      x = scalar::two_product(o, x, y, low);
      return scalar::expm1(o, x, low);
  }
}

template <class T> auto bits_of(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return x != x ? ~Bits{0} : std::bit_cast<Bits>(x);  // NaNs are alike
}

// |got - wanted| in units of the last place that T has at `wanted`; infinite where one is NaN or infinite alone.
template <class T, class Wide> double ulps(T got, Wide wanted) {
  const Wide infinity = std::numeric_limits<Wide>::infinity();
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(static_cast<T>(wanted)) || std::isinf(got)) return static_cast<T>(wanted) == got ? 0 : HUGE_VAL;
  if (wanted == 0) return got == 0 ? 0 : HUGE_VAL;
  if (wanted == infinity || wanted == -infinity) return HUGE_VAL;
  using L = std::numeric_limits<T>;
  const int exponent = std::max(std::ilogb(wanted), L::min_exponent - 1);
  return static_cast<double>(std::fabs(Wide(got) - wanted) / std::ldexp(Wide(1), exponent + 1 - L::digits));
}

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

// Where the algorithms change their ways: around 0 and 1, multiples of half of ln 2, the ends of the range.
template <class T> std::vector<T> landmarks() {
  using L = std::numeric_limits<T>;
  std::vector<T> centres{0, 1, L::min(), L::denorm_min(), L::max(), L::infinity(), T(0x1p-26), T(0x1p-30), T(0x1p-54)};
  for (int k = -160; k <= 300; ++k) centres.push_back(T((k + 0.5) * 0.6931471805599453));
  for (const double x : {17.328679513998633, 17.4, 36.7, 37.5, 60.0, 88.72283905206835, 103.97207708399179,
                         87.33654475055310, 89.0, 105.0, 194.0, 709.782712893384, 710.0, 745.1332191019412, 746.0,
                         708.3964185322641, 1490.0, 0.7071067811865476, 1.4142135623730951})
    centres.push_back(T(x));
  std::vector<T> x;
  for (T c : centres)
    for (const T s : {T(1), T(-1)}) {
      T low = s * c, high = s * c;
      x.push_back(low);
      for (int i = 0; i < 20; ++i) {
        x.push_back(low = std::nextafter(low, -L::infinity()));
        x.push_back(high = std::nextafter(high, L::infinity()));
      }
    }
  return x;
}

template <class T> std::vector<T> random_arguments(int n) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> x;
  for (int i = 0; i < n; ++i) {
    const double u = unit(random), v = unit(random);
    const double choice[] = {750 * u,
                             2 * u,
                             std::exp(40 * u) * (v < 0 ? -1 : 1),
                             1 + u * std::exp(-15 - 15 * v),
                             u * std::exp(-20 - 20 * v),
                             std::ldexp(1 + std::fabs(u), static_cast<int>(1070 * v))};
    x.push_back(static_cast<T>(choice[i % std::size(choice)]));
  }
  return x;
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
  const std::vector<T> m = evaluate(kQuickExp, x), k = evaluate(kQuickExpPower, x), e = evaluate(kQuickExpm1, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide negative = -(std::fabs(x[i]) < 190 ? std::fabs(x[i]) : T(190));
    ASSERT_EQ(k[i], std::nearbyint(k[i]));
    ASSERT_LE(ulps(m[i], std::ldexp(std::exp(negative), -static_cast<int>(k[i]))), 0.95) << x[i];
    ASSERT_LE(ulps(e[i], std::expm1(negative)), 1.2) << x[i];
    ASSERT_TRUE(std::signbit(e[i]));
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
    expect_quick_is_accurate<double, long double>(doubles);
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
#endif
