// SPDX-License-Identifier: MIT
// The program's memory as the checker knows it: who allocated it, what was written, and which work may still touch it.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/check/order.h"
#include "src/check/sample.h"
#include "src/check/shadow.h"
#include "src/check/site.h"
#include "src/runtime/allocations.h"
#include "src/tensor/overlap.h"

namespace descend {

// From the first to past the last byte of a view; of one that is too long for any memory, to the end of all addresses.
inline Extent extent_of(const aclTensor& view) {
  Extent extent{};
  if (is_addressable(view, extent)) return extent;
  return {static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.data)), INT64_MAX};
}

// Work that touched memory and may not be over.
struct Access {
  uint32_t stream;
  uint64_t number;    // of the work, on its stream
  VectorClock after;  // with itself
  aclTensor view;
  Extent extent;
  bool written;
  std::string what;  // "aclnnElu, self"
  Site site;
};

struct Block {
  Allocation memory;
  Site made;
  Shadow written;
  Sample copied;  // by the host, all of it; nothing was written there or computed from it since
  std::vector<Access> accesses;
  bool reported = false;  // as still allocated
  bool freed = false;
  Site freed_at;

  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(memory.begin); }
  // "16 bytes into 64 bytes of device memory".
  std::string describe(const void* address) const;
};

class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();  // gives the addresses back: of a checker that is not the process's

  // Device memory gets an address without access, which is never used again, while there are such.  False when there is
  // none left for it.
  bool add(Allocation& allocation, const Site& made);
  void free(const Allocation& allocation, const Site& at);
  // The block, also a freed one, that holds the address; null for none.
  Block* find(const void* address);
  // Whether the address is one that the program can only have from here.  Needs no lock.
  bool reserved(const void* address) const;
  std::map<uintptr_t, Block>& all() { return blocks_; }

 private:
  // An address for `bytes`, without access; null when there is none left.
  std::byte* reserve(size_t bytes);

  std::map<uintptr_t, Block> blocks_;
  std::deque<uintptr_t> freed_;  // the oldest are forgotten
  std::atomic<std::byte*> space_ = nullptr;
  std::atomic<size_t> room_ = 0;
  size_t used_ = 0;
  bool tried_ = false;
};

}  // namespace descend
