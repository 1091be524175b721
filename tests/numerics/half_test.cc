// SPDX-License-Identifier: MIT
// float16 and bfloat16 against definitions in double: every value up, every rounding boundary down.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/base/bfloat16.h"
#include "src/base/float16.h"
#include "src/base/round_to_odd.h"

namespace descend {
namespace {

// What the bits mean: `fraction` bits below the leading one, exponents from `lowest` on.
double meaning(uint16_t bits, int fraction, int exponent_bits) {
  const int exponent = (bits >> fraction) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << fraction) - 1);
  const int lowest = 2 - (1 << (exponent_bits - 1));
  double size;
  if (exponent == (1 << exponent_bits) - 1)
    size = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    size = std::ldexp(mantissa, lowest - fraction);
  else
    size = std::ldexp(mantissa + (1 << fraction), lowest - fraction + exponent - 1);
  return bits & 0x8000 ? -size : size;
}
double meaning(float16 x) { return meaning(x.bits, 10, 5); }
double meaning(bfloat16 x) { return meaning(x.bits, 7, 8); }

template <class Half> class Halves : public testing::Test {};
using Kinds = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(Halves, Kinds);

TYPED_TEST(Halves, every_value_widens_exactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TypeParam x{static_cast<uint16_t>(bits)};
    const double wanted = meaning(x);
    const float got = static_cast<float>(x);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(static_cast<float>(wanted))) << bits;
    }
  }
}

TYPED_TEST(Halves, every_value_survives_a_round_trip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TypeParam x{static_cast<uint16_t>(bits)};
    const TypeParam back = TypeParam::from(static_cast<float>(x));
    if (std::isnan(meaning(x))) {
      ASSERT_TRUE(std::isnan(meaning(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, x.bits) << bits;
    }
  }
}

// Between two neighbours a < b: the middle goes to the even one, the floats beside it to the nearer one.
TYPED_TEST(Halves, every_boundary_rounds_to_nearest_even) {
  for (uint32_t bits = 0; bits < 0x7fff; ++bits) {
    const TypeParam a{static_cast<uint16_t>(bits)}, b{static_cast<uint16_t>(bits + 1)};
    const double low = meaning(a);
    double high = meaning(b);
    if (!std::isfinite(low) || std::isnan(high)) continue;
    if (std::isinf(high))
      high = low + (low - meaning(TypeParam{static_cast<uint16_t>(bits - 1)}));  // were there one more
    const double middle = (low + high) / 2;
    const float exact = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(exact), middle);
    const TypeParam even = bits % 2 == 0 ? a : b;
    for (const int sign : {0, 0x8000}) {
      const float s = sign ? -1.0f : 1.0f;
      ASSERT_EQ(TypeParam::from(s * exact).bits, even.bits | sign) << bits;
      ASSERT_EQ(TypeParam::from(s * std::nextafter(exact, 0.0f)).bits, a.bits | sign) << bits;
      ASSERT_EQ(TypeParam::from(s * std::nextafter(exact, std::numeric_limits<float>::infinity())).bits, b.bits | sign)
          << bits;
      // From double too, also where the float in between would be the tie itself.
      ASSERT_EQ(TypeParam::from(round_to_odd(s * middle)).bits, even.bits | sign) << bits;
      ASSERT_EQ(TypeParam::from(round_to_odd(s * std::nextafter(middle, 0.0))).bits, a.bits | sign) << bits;
      ASSERT_EQ(TypeParam::from(round_to_odd(s * std::nextafter(middle, 1e300))).bits, b.bits | sign) << bits;
    }
  }
}

TYPED_TEST(Halves, nan_stays_nan_whatever_its_payload) {
  for (const uint32_t payload : {0x00000001u, 0x00001fffu, 0x0000ffffu, 0x003fffffu, 0x00400000u, 0x007fffffu}) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float nan = std::bit_cast<float>(sign | 0x7f800000u | payload);
      EXPECT_TRUE(std::isnan(meaning(TypeParam::from(nan)))) << payload;
    }
  }
  EXPECT_TRUE(std::isnan(meaning(TypeParam::from(round_to_odd(std::numeric_limits<double>::quiet_NaN())))));
}

TYPED_TEST(Halves, infinity_and_what_is_too_large_become_infinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float s : {1.0f, -1.0f}) {
    EXPECT_EQ(meaning(TypeParam::from(s * infinity)), s * infinity);
    EXPECT_EQ(meaning(TypeParam::from(s * std::numeric_limits<float>::max())), s * infinity);
    EXPECT_EQ(meaning(TypeParam::from(round_to_odd(s * 1e300))), s * infinity);
    EXPECT_EQ(meaning(TypeParam::from(round_to_odd(s * std::numeric_limits<double>::infinity()))), s * infinity);
    EXPECT_EQ(meaning(TypeParam::from(round_to_odd(s * 1e-300))), 0.0);
  }
}

}  // namespace
}  // namespace descend
