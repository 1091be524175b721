// SPDX-License-Identifier: MIT
// The machine a benchmark runs on: what it is, and how fast its memory was in this run.
#pragma once
#include <cstdint>
#include <string>

namespace descend::bench {

struct Machine {
  std::string processor;
  int cores = 0;
  uint64_t cache_bytes = 0;   // of the last level; 0 where the kernel does not say
  int threads = 0;            // what the measurements below used: DESCEND_THREADS, or all cores
  double copy_bandwidth = 0;  // bytes read and written per second
  double triad_bandwidth = 0;
};

// Measured at the first call.
const Machine& machine();

}  // namespace descend::bench
