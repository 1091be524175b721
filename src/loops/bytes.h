// SPDX-License-Identifier: MIT
// Memory as it is moved, whatever is in it.
#pragma once
#include <cstdint>

namespace descend {

inline constexpr int64_t kCacheLine = 64;  // bytes

namespace detail {

// Elements are moved as what they are in size only; no two types of one size need code of their own.
struct Bytes16 {
  uint64_t half[2];
};

}  // namespace detail
}  // namespace descend
