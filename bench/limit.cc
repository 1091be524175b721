// SPDX-License-Identifier: MIT
// One pass over memory: what is read is copied as far as the writes go, the rest is read or filled.
#include "bench/limit.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bench/tensor.h"
#include "src/backends/cpu/parallel.h"

namespace descend::bench {
namespace {

constexpr int64_t kPiece = 256 << 10;  // bytes of the larger side that a task takes at a time

std::atomic<uint64_t> sink;

// Of whole lines; four vectors at a time, which stay in registers, or it would not be as fast as the memory.
uint64_t add_up(const std::byte* from, uint64_t bytes) {
  using Vector = uint64_t __attribute__((vector_size(16)));
  const auto at = [from](uint64_t offset) {
    Vector value;
    std::memcpy(&value, from + offset, sizeof value);
    return value;
  };
  Vector a{}, b{}, c{}, d{};
  for (uint64_t i = 0; i + 64 <= bytes; i += 64) {
    a ^= at(i);
    b ^= at(i + 16);
    c ^= at(i + 32);
    d ^= at(i + 48);
  }
  a ^= b ^ c ^ d;
  return a[0] ^ a[1];
}

}  // namespace

Limit::Limit(uint64_t bytes_read, uint64_t bytes_written) : read_(bytes_read), written_(bytes_written) {
  must(aclrtMalloc(&from_, std::max<uint64_t>(read_, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  must(aclrtMalloc(&to_, std::max<uint64_t>(written_, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  std::memset(from_, 1, read_);
  std::memset(to_, 1, written_);
}

Limit::~Limit() {
  aclrtFree(from_);
  aclrtFree(to_);
}

void Limit::run() const {
  const int64_t pieces = static_cast<int64_t>(std::max(read_, written_)) / kPiece + 1;
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto part = [&](uint64_t bytes, int64_t k) { return bytes / 64 * static_cast<uint64_t>(k) / pieces * 64; };
      const uint64_t r = part(read_, i), w = part(written_, i);
      const uint64_t reads = i + 1 == pieces ? read_ - r : part(read_, i + 1) - r;
      const uint64_t writes = i + 1 == pieces ? written_ - w : part(written_, i + 1) - w;
      const uint64_t copied = std::min(reads, writes);
      const auto* from = static_cast<const std::byte*>(from_) + r;
      auto* to = static_cast<std::byte*>(to_) + w;
      std::memcpy(to, from, copied);
      if (reads > copied) sink.fetch_xor(add_up(from + copied, reads - copied), std::memory_order_relaxed);
      // Not with zeros, for which Arm has an instruction that no other result can use.
      if (writes > copied) std::memset(to + copied, 1, writes - copied);
    }
  });
}

}  // namespace descend::bench
