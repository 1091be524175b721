// SPDX-License-Identifier: MIT
// Stores that fill cache lines.  Compiled once per SIMD target.
#if defined(DESCEND_LOOPS_STORE_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_STORE_CPU_INL_H
#undef DESCEND_LOOPS_STORE_CPU_INL_H
#else
#define DESCEND_LOOPS_STORE_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Stores two vectors next to each other.  Arm has one instruction for both, and a Neoverse N1 that gets lines in such
// pieces writes them without reading them first: its two cores fill memory with 77 GB/s, as memset does, and with 43 to
// 48 by stores of one vector or of four.  Compilers use it where both addresses have one base, which is why they may
// not see here where the base comes from.
template <class D> HWY_INLINE void store_pair(hn::Vec<D> a, hn::Vec<D> b, D d, hn::TFromD<D>* to) {
#if HWY_ARCH_ARM_A64
  asm("" : "+r"(to));
#endif
  hn::StoreU(a, d, to);
  hn::StoreU(b, d, to + hn::Lanes(d));
}

// Zeros, of more bytes than the cache holds.  A C library's memset zeroes lines on Arm, which takes up to 4 % longer
// than stores (two Neoverse V1 cores, 51 and 262 MB); on x86 it knows stores that read nothing before.
inline void fill_with_zeros(std::byte* to, size_t bytes) {
#if HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const size_t pair = 2 * hn::Lanes(d);
  auto* at = reinterpret_cast<uint8_t*>(to);
  uint8_t* const end = at + bytes;
  const auto zero = hn::Zero(d);
  for (; at + 4 * pair <= end; at += 4 * pair) {
    store_pair(zero, zero, d, at);
    store_pair(zero, zero, d, at + pair);
    store_pair(zero, zero, d, at + 2 * pair);
    store_pair(zero, zero, d, at + 3 * pair);
  }
  std::memset(at, 0, static_cast<size_t>(end - at));
#else
  std::memset(to, 0, bytes);
#endif
}

// Zeros that stay in the cache.  From 2 KB on a C library's memset is one instruction on x86, made for memory: a Xeon
// of Cascade Lake writes 29 GB/s by it within its second cache, and 52 by stores.
inline void zero_in_cache(std::byte* to, size_t bytes) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  auto* at = reinterpret_cast<uint8_t*>(to);
  uint8_t* const end = at + bytes;
  const auto zero = hn::Zero(d);
  for (; at + 4 * lanes <= end; at += 4 * lanes) {
    hn::StoreU(zero, d, at);
    hn::StoreU(zero, d, at + lanes);
    hn::StoreU(zero, d, at + 2 * lanes);
    hn::StoreU(zero, d, at + 3 * lanes);
#if defined(__GNUC__)
    asm volatile("");  // or the compiler calls memset
#endif
  }
  std::memset(at, 0, static_cast<size_t>(end - at));
#else
  std::memset(to, 0, bytes);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
