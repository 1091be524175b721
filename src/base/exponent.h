// SPDX-License-Identifier: MIT
// How the bits of a number say that it is not finite: infinities and NaN have an exponent of all ones.
#pragma once
#include "src/base/dtype.h"

namespace descend {

template <class Integer, Integer ones> struct ExponentBits {
  using Bits = Integer;
  static constexpr Bits kOnes = ones;
};
// Of a complex number, those of either part.
template <class T> struct Exponent;
template <> struct Exponent<float> : ExponentBits<uint32_t, 0x7f800000u> {};
template <> struct Exponent<float16> : ExponentBits<uint16_t, 0x7c00u> {};
template <> struct Exponent<bfloat16> : ExponentBits<uint16_t, 0x7f80u> {};
template <> struct Exponent<double> : ExponentBits<uint64_t, 0x7ff0000000000000u> {};
template <> struct Exponent<complex32> : Exponent<float16> {};
template <> struct Exponent<complex64> : Exponent<float> {};
template <> struct Exponent<complex128> : Exponent<double> {};

// The dtypes with infinities.
using Inexacts = Dtypes<float, float16, bfloat16, double, complex32, complex64, complex128>;

}  // namespace descend
