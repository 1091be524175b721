// SPDX-License-Identifier: MIT
// Which addresses are whose: every allocation of device memory and of host memory made through the runtime.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>

#include "src/device/device.h"

namespace descend {

enum class MemoryKind { kDevice, kHost };

struct Allocation {
  std::byte* begin = nullptr;
  size_t bytes = 0;  // all that may be touched, padding included
  MemoryKind kind = MemoryKind::kDevice;
  Device* device = nullptr;
  int32_t device_id = 0;
  size_t asked = 0;             // bytes the program asked for
  std::byte* memory = nullptr;  // where the bytes are; an observer may show the program another address

  void* real(const void* address) const { return memory + (static_cast<const std::byte*>(address) - begin); }
};

class Allocations {
 public:
  void add(const Allocation& allocation);
  // The allocation that holds this address; empty for memory of somebody else.
  std::optional<Allocation> find(const void* address) const;
  // The allocation that begins here and is of this kind, which is then forgotten.
  std::optional<Allocation> remove(const void* address, MemoryKind kind);

  // As those of Handles.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  void renew_after_fork() { new (&mutex_) std::shared_mutex; }

 private:
  std::optional<Allocation> find_locked(const void* address) const;

  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Allocation> by_address_;
};

Allocations& allocations();

// Where the bytes behind an address of the program's are.
void* real_address(void* address);

// "0x10, 16 bytes into an allocation of 64 bytes of device memory", for texts.
std::string describe_address(const void* address);

}  // namespace descend
