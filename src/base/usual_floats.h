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
      before_ = exchange(kUsual);
  }
  ~UsualFloats() {
    if (differs()) [[unlikely]]
      exchange(before_);
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
  static uint64_t exchange(uint64_t next) noexcept {
    const uint64_t last = mode();
    asm volatile("msr fpcr, %0" ::"r"(next) : "memory");
    return last;
  }
  bool differs() const noexcept { return before_ != kUsual; }
  uint64_t before_;
#elif defined(__x86_64__)
  struct Mode {
    uint32_t vectors;
    uint16_t long_double;  // the reference computes with it
    uint8_t long_double_raised;
  };
  static constexpr Mode kUsual{0x1f80, 0x037f, 0};
  static constexpr uint32_t kRaised = 0x3f;  // what happened so far is no mode
  static Mode mode() noexcept {
    Mode mode{_mm_getcsr(), 0, 0};
    asm volatile("fnstcw %0" : "=m"(mode.long_double));
    return mode;
  }
  // With what long double has raised: left there, what was not trapped here would trap the program's next instruction
  // of that kind.
  static Mode exchange(const Mode& next) noexcept {
    constexpr uint32_t kFlags = 0xff;
    uint32_t unit[7];  // control, status, and what stays
    asm volatile("fnstenv %0" : "=m"(unit));
    const Mode last{_mm_getcsr(), static_cast<uint16_t>(unit[0]), static_cast<uint8_t>(unit[1] & kFlags)};
    _mm_setcsr(next.vectors);
    unit[0] = (unit[0] & 0xffff0000) | next.long_double;
    unit[1] = (unit[1] & ~kFlags) | next.long_double_raised;
    asm volatile("fldenv %0" ::"m"(unit) : "memory");
    return last;
  }
  bool differs() const noexcept {
    return (before_.vectors & ~kRaised) != kUsual.vectors || before_.long_double != kUsual.long_double;
  }
  Mode before_;
#else
#error "how is the mode of this processor's floating-point unit read and set?"
#endif
};

}  // namespace descend
