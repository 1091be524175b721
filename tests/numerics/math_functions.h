// SPDX-License-Identifier: MIT
// The functions of src/loops/math-inl.h for tests: on the chosen SIMD target and in the scalar rendering, and arguments
// for them.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "src/loops/math_scalar.h"
#include "tests/numerics/targets.h"

namespace descend {

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
  kHalvesExp,
  kHalvesExpm1,
  kBriefExp,
  kExpOfMany,
  kExpFactor,
  kFunctions
};

// out[i] = the function of a[i], b[i]; n is a multiple of every vector's length.
void evaluate_run(Function which, int64_t n, const float* a, const float* b, float* out);
void evaluate_run(Function which, int64_t n, const double* a, const double* b, double* out);

template <class T> std::vector<T> evaluate(Function which, std::vector<T> a, std::vector<T> b = {}) {
  const size_t n = a.size(), padded = (n + 63) / 64 * 64;
  a.resize(padded);
  b.resize(padded);
  std::vector<T> out(padded);
  evaluate_run(which, static_cast<int64_t>(padded), a.data(), b.data(), out.data());
  out.resize(n);
  return out;
}

inline constexpr int kLiftOfMany = 100;
inline constexpr int kQuickLimit = 190;  // the quick functions are asked for numbers down to the negative of this

template <class T> T evaluate_scalar(Function which, T x, T y) {
  const scalar::Math<T> o;
  const T negative = -(std::fabs(x) < kQuickLimit ? std::fabs(x) : T(kQuickLimit));
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
      return k - scalar::MathConstants<T>::magic;
    case kQuickExpm1:
      return scalar::quick_expm1_of_negative(o, negative);
    case kHalvesExp:
      if constexpr (sizeof(T) == 4) return scalar::quick_exp_parts<true>(o, negative, k);
      return 0;
    case kBriefExp:
      if constexpr (sizeof(T) == 4) return scalar::brief_exp_parts(o, negative, k);
      return 0;
    case kExpOfMany:
      if constexpr (sizeof(T) == 4) return scalar::exp_of_many(o, x, y);
      return 0;
    case kExpFactor:
      if constexpr (sizeof(T) == 8) return scalar::exp_factor<kLiftOfMany>(o, x, y);
      return 0;
    case kHalvesExpm1:
      if constexpr (sizeof(T) == 4) return scalar::quick_expm1_of_negative<true>(o, negative);
      return 0;
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

}  // namespace descend
