// SPDX-License-Identifier: MIT
// The mode of the thread's floating-point unit: programs change theirs (torch.set_flush_denormal, libraries linked with
// -ffast-math, fesetround, feenableexcept), and threads begin with that of whoever starts them.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace descend {

// While there is one the thread rounds to nearest, keeps subnormals and traps nothing, as a program begins; afterwards
// it does as before.
class UsualFloats {
 public:
  UsualFloats() noexcept : before_(mode()) {
    if (differs()) [[unlikely]]
      set(kUsual);
  }
  ~UsualFloats() {
    if (differs()) [[unlikely]]
      set(before_);
  }
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;

 private:
#if defined(__aarch64__)
  static constexpr uint64_t kUsual = 0;
  static uint64_t mode() noexcept {
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set(uint64_t mode) noexcept { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }
  bool differs() const noexcept { return before_ != kUsual; }
  const uint64_t before_;
#elif defined(__x86_64__)
  static constexpr uint32_t kUsual = 0x1f80, kRaised = 0x3f;  // what happened so far is no mode
  static uint32_t mode() noexcept { return _mm_getcsr(); }
  static void set(uint32_t mode) noexcept { _mm_setcsr(mode); }
  bool differs() const noexcept { return (before_ & ~kRaised) != kUsual; }
  const uint32_t before_;
#else
#error "how is the mode of this processor's floating-point unit read and set?"
#endif
};

}  // namespace descend
