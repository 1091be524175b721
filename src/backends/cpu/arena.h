// SPDX-License-Identifier: MIT
// The threads behind parallel_for: one oneTBB arena for the device.  Nothing but parallel.cc includes this.
#pragma once
#include <cstdint>

#include "src/device/device.h"

namespace descend {

// False where oneTBB must not be touched: in a process forked from one that had used it (its threads are missing and
// its locks may be held), and once the process is ending.
bool arena_usable();
// The cores this process may use.
int arena_cores();
// Calls body with parts of [0, count), in all every number once, on up to `width` threads, or as many as can be made;
// returns when all are done.
void run_in_arena(int width, int64_t count, FunctionRef<void(int64_t first, int64_t last)> body);

}  // namespace descend
