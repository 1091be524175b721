// SPDX-License-Identifier: MIT
#include "src/check/blocks.h"

#include <sys/mman.h>

#include "src/base/address_space.h"
#include "src/base/text.h"
#include "src/device/device.h"

namespace descend {
namespace {

constexpr size_t kPage = size_t{64} << 10;  // a multiple of every machine's
constexpr size_t kKeptFreed = 4096;
constexpr uint8_t kPoison = 0xFF;  // as a number of any dtype: NaN, -1 or 255
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kMost = size_t{1} << 34;  // a sanitizer has its own plans with most addresses
#else
constexpr size_t kMost = size_t{1} << 44;  // of address space; all the device memory the program ever allocates
#endif
constexpr size_t kLeast = size_t{1} << 30;
constexpr size_t kShare = 4;  // of the addresses that the process may have

}  // namespace

std::string Block::describe(const void* address) const {
  const auto offset = reinterpret_cast<uintptr_t>(address) - begin();
  const char* kind = memory.kind == MemoryKind::kDevice ? "device memory" : "host memory from aclrtMallocHost";
  if (offset == 0) return cat(address, ", the beginning of ", memory.asked, " bytes of ", kind);
  return cat(address, ", ", offset, " bytes into ", memory.asked, " bytes of ", kind);
}

Blocks::~Blocks() {
  if (space_ != nullptr) munmap(space_, room_);
}

std::byte* Blocks::reserve(size_t bytes) {
  if (!tried_) {
    const AddressSpace space = reserve_addresses(kMost, kLeast, kShare);
    room_ = space.bytes;
    space_ = static_cast<std::byte*>(space.begin);
    tried_ = true;
  }
  // A page apart from the next: an address past the end is nobody's.
  const size_t whole = (bytes + kPage - 1) / kPage * kPage + kPage;
  if (space_ == nullptr || whole > room_ - used_) return nullptr;
  std::byte* const at = space_ + used_;
  used_ += whole;
  return at;
}

bool Blocks::reserved(const void* address) const {
  return static_cast<uintptr_t>(reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(space_.load())) <
         room_;
}

bool Blocks::add(Allocation& allocation, const Site& made) {
  if (allocation.kind == MemoryKind::kDevice) {
    // The same wherever the memory comes from.
    (void)allocation.device->fill(allocation.memory + allocation.asked, kPoison, allocation.bytes - allocation.asked);
    if (std::byte* at = reserve(allocation.bytes)) allocation.begin = at;
  }
  const bool kept = allocation.kind != MemoryKind::kDevice || allocation.begin != allocation.memory;
  const auto begin = reinterpret_cast<uintptr_t>(allocation.begin);
  // Where addresses are used again, what was freed there is forgotten.
  auto it = blocks_.lower_bound(begin);
  if (it != blocks_.begin() && std::prev(it)->first + std::prev(it)->second.memory.bytes > begin) --it;
  while (it != blocks_.end() && it->first < begin + allocation.bytes) it = blocks_.erase(it);
  blocks_.emplace(begin, Block{allocation, made, Shadow(allocation.asked), {}, {}, false, false, {}});
  return kept;
}

void Blocks::free(const Allocation& allocation, const Site& at) {
  const auto it = blocks_.find(reinterpret_cast<uintptr_t>(allocation.begin));
  if (it == blocks_.end()) return;
  // Memory of the host may belong to somebody else next, which nobody would tell us.
  const bool hosts = allocation.kind == MemoryKind::kHost || allocation.device->memory_is_the_hosts();
  if (hosts && !reserved(allocation.begin)) {
    blocks_.erase(it);
    return;
  }
  it->second.freed = true;
  it->second.freed_at = at;
  it->second.accesses = {};
  it->second.written = Shadow();
  it->second.copied = {};
  freed_.push_back(it->first);
  if (freed_.size() <= kKeptFreed) return;
  // Unless the address is in use again.
  const auto oldest = blocks_.find(freed_.front());
  if (oldest != blocks_.end() && oldest->second.freed) blocks_.erase(oldest);
  freed_.pop_front();
}

Block* Blocks::find(const void* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  auto it = blocks_.upper_bound(value);
  if (it == blocks_.begin()) return nullptr;
  --it;
  return value - it->first < it->second.memory.bytes ? &it->second : nullptr;
}

}  // namespace descend
