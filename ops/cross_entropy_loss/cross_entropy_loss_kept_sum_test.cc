// SPDX-License-Identifier: MIT
// What is kept of a sum of exponentials of halves: no less than results show, and nothing that tells how it was added.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"

namespace descend::test::cross_entropy_loss {
namespace {

template <class Element> class KeptSum : public ::testing::Test {
 protected:
  using Kept = CrossEntropyKeptSum<Element>;
  // All sizes, and what is next to where another number of bits is kept.
  template <class Body> void for_sums(const Body& body) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> mantissa(1, 2);
    for (int exponent = -60; exponent < 40; ++exponent)
      for (int i = 0; i < 2000; ++i) body(std::ldexp(mantissa(random), exponent), random());
    for (double limit : {0.5, 1.0, 2.0, 8.0, 64.0})
      for (int i = -2000; i <= 2000; ++i) body(limit * (1 + i * 0x1p-24), random());
  }
};
using Halves = ::testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(KeptSum, Halves);

TYPED_TEST(KeptSum, is_within_a_quarter_of_an_ulp_of_the_logarithm) {
  this->for_sums([](double sum, uint64_t) {
    const double exact = std::log1p(sum);
    const double ulp = std::ldexp(1, std::ilogb(exact) + 1 - TypeParam::kDigits);
    EXPECT_LE(std::fabs(std::log1p(typename TestFixture::Kept(sum, true).kept()) - exact), ulp / 4 * 1.001) << sum;
    // A part may be little of a row, all of which is not above the sum itself: less of it may be lost.
    const double part = typename TestFixture::Kept(sum, false).kept();
    EXPECT_LE(std::fabs(part - sum), sum * std::ldexp(sum < 1 ? 1 : 2, -TypeParam::kDigits - 2)) << sum;
  });
}

TYPED_TEST(KeptSum, is_the_same_of_all_that_a_sure_sum_may_be) {
  using Kept = typename TestFixture::Kept;
  for (double error : {0x1p-22, 0x1p-20, 0x1p-18})
    for (bool is_row : {false, true}) {
      int sure = 0, unsure = 0;
      this->for_sums([&](double sum, uint64_t random) {
        const Kept kept(sum, is_row);
        if (!kept.is_sure(error)) return void(++unsure);
        ++sure;
        for (double part : {-1.0, static_cast<double>(random % 2001) / 1000 - 1, 1.0})
          ASSERT_EQ(Kept(sum * (1 + part * error), is_row).kept(), kept.kept()) << sum;
      });
      EXPECT_GT(sure, 10 * unsure);
      EXPECT_GT(unsure, 0);
    }
}

TYPED_TEST(KeptSum, says_of_every_place_where_it_would_change_that_it_is_not_sure) {
  using Kept = typename TestFixture::Kept;
  this->for_sums([](double sum, uint64_t random) {
    const bool is_row = random % 2 != 0;
    const double error = 0x1p-20, other = sum * (1 + error * 0.999);
    if (Kept(sum, is_row).kept() != Kept(other, is_row).kept()) {
      EXPECT_FALSE(Kept(sum, is_row).is_sure(error)) << sum;
      EXPECT_FALSE(Kept(other, is_row).is_sure(error)) << sum;
    }
  });
}

TYPED_TEST(KeptSum, of_what_is_no_number_or_next_to_nothing_is_never_sure) {
  using Kept = typename TestFixture::Kept;
  for (double sum : {std::numeric_limits<double>::quiet_NaN(), 0.0, 0x1p-200, 0x1p-61}) {
    EXPECT_FALSE(Kept(sum, true).is_sure(0));
    EXPECT_EQ(std::isnan(Kept(sum, true).kept()), std::isnan(sum));
  }
  EXPECT_EQ(Kept(0, true).kept(), 0);
}

}  // namespace
}  // namespace descend::test::cross_entropy_loss
