// SPDX-License-Identifier: MIT
// Stores that fill cache lines.  Compiled once per SIMD target.
#if defined(DESCEND_LOOPS_STORE_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_STORE_CPU_INL_H
#undef DESCEND_LOOPS_STORE_CPU_INL_H
#else
#define DESCEND_LOOPS_STORE_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

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

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
