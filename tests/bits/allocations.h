// SPDX-License-Identifier: MIT
// How much memory the process asks for.
#pragma once
#include <cstddef>

namespace descend::test {

// The largest piece that any thread asks for, of the heap or of the system, as long as this lives.
class LargestAllocation {
 public:
  LargestAllocation();
  ~LargestAllocation();
  LargestAllocation(const LargestAllocation&) = delete;
  LargestAllocation& operator=(const LargestAllocation&) = delete;

  size_t bytes() const;
};

}  // namespace descend::test
