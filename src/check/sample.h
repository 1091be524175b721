// SPDX-License-Identifier: MIT
// What one copy of the host's filled an allocation with: whether that is floats where a tensor says 16-bit elements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/dtype.h"
#include "src/check/site.h"

namespace descend {

// A few of its words of 4 bytes, from all over it.
class Sample {
 public:
  Sample() = default;
  Sample(const void* data, size_t bytes, const Site& at);

  // Where these are floats and hardly elements of such a dtype, the first that shows it in words; empty otherwise.
  std::string floats_as(DataType half) const;
  const Site& at() const { return at_; }

 private:
  std::vector<uint32_t> words_;
  size_t step_ = 0;  // words from one to the next
  Site at_ = {};
};

}  // namespace descend
