// SPDX-License-Identifier: MIT
// How many threads the system still lets this process have.
#pragma once
#include <cstddef>

namespace descend {

struct SpareThreads {
  int count = 0;
  int error = 0;  // why there are no more, as pthread_create says it; 0 where there are as many as wanted
};

// Makes up to `wanted` threads with stacks of this size, all at once, and ends them again: limits of control groups and
// users can only be found out by trying.  What others start or end meanwhile may change the answer.
SpareThreads spare_threads(int wanted, size_t stack_bytes);

}  // namespace descend
