// SPDX-License-Identifier: MIT
// bfloat16: the upper half of a float.
#pragma once
#include <bit>
#include <cstdint>

namespace descend {

struct bfloat16 {
  uint16_t bits;
  static constexpr int kDigits = 8;  // of its significand

  // Nearest, ties to even; subnormals kept; a NaN stays a (quiet) NaN.
  static constexpr bfloat16 from(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((u >> 16) | 0x40u)};
    return {static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

}  // namespace descend
