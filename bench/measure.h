// SPDX-License-Identifier: MIT
// Timing one case: ours, the peer and the limit, in turn.
#pragma once
#include <cstdint>
#include <string>

#include "bench/case.h"

namespace descend::bench {

// Seconds a call, medians of the repetitions; negative where there is nothing to measure.
struct Measured {
  double ours = -1, torch = -1, limit = -1;
  double phase_one = -1;  // of small calls: phase one alone
  uint64_t bytes_read = 0, bytes_written = 0, workspace = 0;
};

void begin_measuring(bool quick);
Measured measure(const Case& c);

// "2.10.0"; "not built in" without PyTorch.
std::string torch_version();
// Set by the file that knows PyTorch.
bool use_torch(std::string version, void (*set_threads)(int threads));

}  // namespace descend::bench
