// SPDX-License-Identifier: MIT
// Running a loop on the cores of the cpu device.
#pragma once
#include <cstdint>

#include "src/device/device.h"

namespace descend {

// Calls body(begin, end) for [0, grain), [grain, 2 grain) … up to count (the last one may be shorter), on up to
// parallel_width() threads, in any order; returns when all are done.  The chunks depend on count and grain only, never
// on the number of threads, so that a result made of one value a chunk is the same on every machine.
//
// May be called from several threads at once and from inside a body; a thread that waits for its own chunks takes up
// no other loop meanwhile, so thread-local buffers are safe.  A loop of one chunk runs on the caller's thread.  An
// exception of a body ends the loop early and is passed on.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

// DESCEND_THREADS, or the number of cores this process may use.  1 in a process forked after the first parallel loop,
// because the threads of that loop are not there; read anew at each call, so rereading the environment changes it.
int parallel_width();

}  // namespace descend
