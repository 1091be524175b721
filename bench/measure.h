// SPDX-License-Identifier: MIT
// Timing one case: ours, the peers and the limit, in turn.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "bench/case.h"

namespace descend::bench {

// Seconds a call, medians of the repetitions; negative where there is nothing to measure.
struct Measured {
  double ours = -1, limit = -1;
  std::map<std::string, double> peers;                 // by library
  double ours_one_thread = -1, limit_one_thread = -1;  // of calls that are worth a second thread
  double phase_one = -1;                               // of small calls: phase one alone
  uint64_t bytes_read = 0, bytes_written = 0, workspace = 0;
  Layout layout = Layout::kContiguous;
};

void begin_measuring(bool quick);
Measured measure(const Case& c);

}  // namespace descend::bench
