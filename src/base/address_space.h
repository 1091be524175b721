// SPDX-License-Identifier: MIT
// Addresses that are reserved before anything is in them.
#pragma once
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

namespace descend {

struct AddressSpace {
  void* begin = nullptr;  // null: not even `least` bytes are to be had
  size_t bytes = 0;
};

// Up to `most` bytes of addresses, which are no memory yet.  Where a process may only have so many (RLIMIT_AS, `ulimit
// -v`), no more of them than one in `share`, or `least`: the rest is the program's.
inline AddressSpace reserve_addresses(size_t most, size_t least, size_t share) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    most = std::min(most, std::max<size_t>(least, limit.rlim_cur / share));
  constexpr size_t kPages = size_t{64} << 10;  // the largest there are
  for (size_t bytes = most / kPages * kPages; bytes >= least; bytes = bytes / 2 / kPages * kPages) {
    void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) return {at, bytes};
  }
  return {};
}

}  // namespace descend
