// SPDX-License-Identifier: MIT
// The limit of a memory-bound call: reading and writing as many bytes as it must, and nothing else.
#pragma once
#include <cstdint>

namespace descend::bench {

class Limit {
 public:
  Limit(uint64_t bytes_read, uint64_t bytes_written);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  // With the threads that the operators use.
  void run() const;

 private:
  uint64_t read_, written_;
  void *from_ = nullptr, *to_ = nullptr;
};

}  // namespace descend::bench
