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
  struct Mode {
    uint32_t vectors;
    uint16_t long_double;  // the reference computes with it
  };
  static constexpr Mode kUsual{0x1f80, 0x037f};
  static constexpr uint32_t kRaised = 0x3f;  // what happened so far is no mode
  static Mode mode() noexcept {
    Mode mode{_mm_getcsr(), 0};
    asm volatile("fnstcw %0" : "=m"(mode.long_double));
    return mode;
  }
  static void set(const Mode& mode) noexcept {
    _mm_setcsr(mode.vectors);
    asm volatile("fldcw %0" ::"m"(mode.long_double) : "memory");
  }
  bool differs() const noexcept {
    return (before_.vectors & ~kRaised) != kUsual.vectors || before_.long_double != kUsual.long_double;
  }
  const Mode before_;
#else
#error "how is the mode of this processor's floating-point unit read and set?"
#endif
};

}  // namespace descend
