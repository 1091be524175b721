// SPDX-License-Identifier: MIT
// The machine a benchmark runs on: what it is, and how fast its memory was in this run.
#pragma once
#include <string>

namespace descend::bench {

struct Machine {
  std::string processor;
  int cores = 0;
  int threads = 0;            // what the measurements below used: DESCEND_THREADS, or all cores
  double copy_bandwidth = 0;  // bytes read and written per second
  double triad_bandwidth = 0;
};

// Measured at the first call.
const Machine& machine();

}  // namespace descend::bench
