// SPDX-License-Identifier: MIT
// float16: IEEE binary16.
#pragma once
#include <bit>
#include <cstdint>

namespace descend {

struct float16 {
  uint16_t bits;
  static constexpr int kDigits = 11;  // of its significand

  // Nearest, ties to even; subnormals kept; overflow becomes infinity; a NaN stays a (quiet) NaN.
  static constexpr float16 from(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
    const uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
    if (magnitude >= 0x47800000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 65536 and more
    uint32_t half, lost, unit;       // the truncated result, what truncation dropped, and one unit of the last place
    if (magnitude >= 0x38800000u) {  // 2^-14 and more: a normal number
      half = (magnitude - 0x38000000u) >> 13;
      lost = magnitude & 0x1fffu;
      unit = 0x2000u;
    } else {
      const uint32_t shift = 126u - (magnitude >> 23);  // 14 to 23 where bits remain
      if (shift > 24u) return {sign};
      const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
      half = significand >> shift;
      lost = significand & ((1u << shift) - 1u);
      unit = 1u << shift;
    }
    half += lost > unit / 2 || (lost == unit / 2 && (half & 1u));  // may carry into the exponent: still right
    return {static_cast<uint16_t>(sign | half)};
  }

  constexpr explicit operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
    const uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    const float value = static_cast<float>(magnitude) * 0x1p-24f;  // exact
    return sign ? -value : value;
  }
};

}  // namespace descend
