// SPDX-License-Identifier: MIT
// double -> float for values that are rounded again afterwards.
#pragma once
#include <bit>
#include <cstdint>

namespace descend {

// The float next to `value` towards 0, with its last bit set when it is not `value` exactly.  Rounding it to float16 or
// bfloat16 then gives what rounding `value` itself gives: float has more than two bits more than either, and the set
// bit keeps the result off every tie that the value is not on.
constexpr float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (value != value || static_cast<double>(nearest) == value) return nearest;
  const double magnitude = value < 0 ? -value : value;
  const float size = std::bit_cast<float>(bits & 0x7fffffffu);
  if (static_cast<double>(size) > magnitude) --bits;  // rounded up, maybe to infinity: step back towards 0
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace descend
