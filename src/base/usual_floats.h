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
      set_usual();
  }
  ~UsualFloats() {
    if (differs()) [[unlikely]]
      put_back();
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
  static void set_usual() noexcept { set(kUsual); }
  void put_back() const noexcept { set(before_); }
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
  // What the unit of long double has noted traps at its next instruction, also at fldcw, once it is no longer masked:
  // what was noted before we came must not trap here, nor what we make it note when we are gone.  fnstenv masks all.
  void set_usual() noexcept {
    _mm_setcsr(kUsual.vectors);
    asm volatile("fnstenv %0\n\tfldcw %1" : "=m"(environment_) : "m"(kUsual.long_double) : "memory");
  }
  void put_back() const noexcept {
    _mm_setcsr(before_.vectors);
    asm volatile("fldenv %0" ::"m"(environment_) : "memory");
  }
  bool differs() const noexcept {
    return (before_.vectors & ~kRaised) != kUsual.vectors || before_.long_double != kUsual.long_double;
  }
  const Mode before_;
  struct Environment {
    unsigned char bytes[28];
  } environment_;  // of long double; only where the mode differs
#else
#error "how is the mode of this processor's floating-point unit read and set?"
#endif
};

}  // namespace descend
