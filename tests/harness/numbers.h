// SPDX-License-Identifier: MIT
// Numbers for tests: landmark values, random ones, and the distance between two results.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "src/base/dtype.h"

namespace descend::test {

// A number as the bits of a dtype's (real) element, and back.
inline double decode(DataType t, const void* at) {
  double v = 0;
  visit(Reals{}, t, [&]<class T> {
    T element;
    std::memcpy(&element, at, sizeof element);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      v = static_cast<float>(element);
    else
      v = static_cast<double>(element);
  });
  return v;
}
inline void encode(DataType t, double v, void* at) {
  visit(Reals{}, t, [&]<class T> {
    T element;
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      element = T::from(static_cast<float>(v));
    else
      element = static_cast<T>(v);
    std::memcpy(at, &element, sizeof element);
  });
}

// The representable numbers in order, as integers: neighbours differ by 1, and -0 and 0 are one.
inline int64_t ordinal(DataType t, double v) {
  unsigned char bytes[8] = {};
  encode(t, v, bytes);
  const auto fold = [](int64_t magnitude, bool negative) { return negative ? -magnitude : magnitude; };
  switch (size_of(t)) {
    case 2: {
      uint16_t u;
      std::memcpy(&u, bytes, 2);
      return fold(u & 0x7fff, u >> 15);
    }
    case 4: {
      uint32_t u;
      std::memcpy(&u, bytes, 4);
      return fold(u & 0x7fffffff, u >> 31);
    }
    default: {
      uint64_t u;
      std::memcpy(&u, bytes, 8);
      return fold(static_cast<int64_t>(u & 0x7fffffffffffffff), u >> 63);
    }
  }
}

// How many representable numbers lie between two results: 0 for the same, NaN counting as equal to NaN only.
inline int64_t ulps_apart(DataType t, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<int64_t>::max();
  if (std::isinf(a) || std::isinf(b)) return a == b ? 0 : std::numeric_limits<int64_t>::max();
  return std::abs(ordinal(t, a) - ordinal(t, b));
}

// Values at which code goes wrong: zeros, the ends of the range, infinities, NaN, and what the test adds.
inline std::vector<double> landmarks(DataType t, std::vector<double> own = {}) {
  double least = 0x1p-1074, least_normal = 0x1p-1022, most = std::numeric_limits<double>::max();
  if (t == DataType::kFloat) least = 0x1p-149, least_normal = 0x1p-126, most = std::numeric_limits<float>::max();
  if (t == DataType::kFloat16) least = 0x1p-24, least_normal = 0x1p-14, most = 65504;
  if (t == DataType::kBfloat16) least = 0x1p-133, least_normal = 0x1p-126, most = 0x1.fep127;
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> all{0.0,
                          -0.0,
                          least,
                          -least,
                          least_normal,
                          -least_normal,
                          1.0,
                          -1.0,
                          most,
                          -most,
                          infinity,
                          -infinity,
                          std::numeric_limits<double>::quiet_NaN()};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

// Random numbers of many magnitudes, the same for a seed everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double next() {
    const double mantissa = static_cast<double>(engine_() >> 11) * 0x1p-52 - 1.0;  // -1 to 1
    return std::ldexp(mantissa, static_cast<int>(engine_() % 8) - 2);              // up to 32
  }
  uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace descend::test
