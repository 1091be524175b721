// SPDX-License-Identifier: MIT
// The registry of allocations.
#include "src/runtime/allocations.h"

#include <mutex>

#include "src/base/text.h"

namespace descend {

void Allocations::add(const Allocation& allocation) {
  const std::unique_lock lock(mutex_);
  by_address_.insert_or_assign(reinterpret_cast<uintptr_t>(allocation.begin), allocation);
}

std::optional<Allocation> Allocations::find_locked(const void* address) const {
  const auto value = reinterpret_cast<uintptr_t>(address);
  auto it = by_address_.upper_bound(value);
  if (it == by_address_.begin()) return {};
  --it;
  if (value - it->first >= it->second.bytes) return {};
  return it->second;
}

std::optional<Allocation> Allocations::find(const void* address) const {
  const std::shared_lock lock(mutex_);
  return find_locked(address);
}

std::optional<Allocation> Allocations::remove(const void* address, MemoryKind kind) {
  const std::unique_lock lock(mutex_);
  const auto it = by_address_.find(reinterpret_cast<uintptr_t>(address));
  if (it == by_address_.end() || it->second.kind != kind) return {};
  const Allocation allocation = it->second;
  by_address_.erase(it);
  return allocation;
}

Allocations& allocations() {
  static Allocations& all = *new Allocations;
  return all;
}

void* real_address(void* address) {
  const std::optional<Allocation> found = allocations().find(address);
  return found ? found->real(address) : address;
}

std::string describe_address(const void* address) {
  const std::optional<Allocation> found = allocations().find(address);
  if (!found) return cat(address, ", which was freed or did not come from this library");
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - found->begin);
  const char* memory = found->kind == MemoryKind::kDevice ? "device memory" : "host memory from aclrtMallocHost";
  if (offset == 0) return cat(address, ", the beginning of ", found->bytes, " bytes of ", memory);
  return cat(address, ", ", offset, " bytes into an allocation of ", found->bytes, " bytes of ", memory);
}

}  // namespace descend
