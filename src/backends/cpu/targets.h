// SPDX-License-Identifier: MIT
// Which SIMD target the cpu kernels run on.
//
// Kernels are compiled once per target and chosen at run time by Highway, process-wide.  Offered are: NEON, SVE, SVE2,
// SVE_256 and SVE2_128 on aarch64, AVX2 and AVX3 on x86-64, each where the processor has it, and SCALAR, which fuses a
// multiply-add in software where it must: the same bits, slowly.  cmake/simd.cmake says how they are compiled.
#pragma once
#include <string_view>
#include <vector>

namespace descend {

// The targets that were compiled and that this processor has, the best first; by Highway's names.
const std::vector<std::string_view>& cpu_targets();

// The target the kernels run on.
std::string_view cpu_target();

// Makes `name` the target; empty: the best one.  False, and nothing changed, when cpu_targets() does not have it.
// Kernels that run meanwhile finish on the target they began on.
bool set_cpu_target(std::string_view name);

// set_cpu_target with DESCEND_CPU_TARGET.  A name that is not offered is a warning in the log that says which are, and
// the best target is used.  The cpu backend calls it when the environment has been read.
void choose_cpu_target();

}  // namespace descend
