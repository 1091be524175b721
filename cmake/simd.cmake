# SPDX-License-Identifier: MIT
# The SIMD targets that kernels (*_cpu.cc) and src/backends/cpu/targets.cc are compiled for, on descend_flags.
#
# x86-64: sources keep the compiler's baseline, no -march: Highway raises it for the functions between
# HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE only, so that nothing else needs a newer processor.  SSSE3 and SSE4 have no
# fused multiply-add and are not compiled.  A processor without AVX2 runs the target SCALAR (never EMU128), where
# math-inl.h fuses in software: slow, and the same bits.
# aarch64: NEON, and SVE, SVE2, SVE_256 and SVE2_128 at run time where the compiler is GCC (Highway 1.0.3 dispatches on
# Arm with GCC only).
# SCALAR is compiled everywhere: any machine can then be asked whether two targets give the same bits.
set(without HWY_SSSE3|HWY_SSE4)
# Sanitizers look at memory, which the targets share; four of them less halve the time such a build takes on aarch64.
option(DESCEND_FEW_TARGETS "Compile kernels for NEON or AVX2 and SCALAR alone: quicker to build while developing" OFF)
if(DESCEND_SANITIZE OR DESCEND_FEW_TARGETS)
  string(APPEND without |HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_AVX3|HWY_AVX3_DL)
endif()
# What is compiled for another processor is emulated, by QEMU, which has no AVX-512.
if(CMAKE_CROSSCOMPILING)
  string(APPEND without |HWY_AVX3|HWY_AVX3_DL)
endif()
target_compile_definitions(descend_flags INTERFACE "HWY_DISABLED_TARGETS=(${without})" HWY_BROKEN_EMU128=1
                                                   HWY_COMPILE_ALL_ATTAINABLE=1)
