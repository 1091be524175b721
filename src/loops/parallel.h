// SPDX-License-Identifier: MIT
// parallel_for, for kernels whose loops are their own: operators see src/loops, and of the cpu backend nothing else.
#pragma once
#include "src/backends/cpu/parallel.h"  // IWYU pragma: export
