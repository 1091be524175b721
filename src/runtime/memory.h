// SPDX-License-Identifier: MIT
// Memory: allocating, freeing, copying and filling, with every range checked against the allocations there are.
#pragma once
#include <cstddef>
#include <cstdint>

#include "src/base/status.h"

namespace descend {

// How much more than asked for an allocation of device memory holds.
enum class Padding {
  kExtra,  // rounded up to 32, and 32 more
  kNone,   // rounded up to 32
};
Status allocate_device_memory(void** memory, size_t bytes, Padding padding);
Status free_device_memory(void* memory);
Status allocate_host_memory(void** memory, size_t bytes);
Status free_host_memory(void* memory);

// A copy as a C function was asked for it.
struct Copy {
  void* to;
  size_t room;  // destMax
  const void* from;
  size_t bytes;
  int32_t kind;  // only checked: the addresses decide
};
Status copy_memory(const Copy& copy);
// Returns when it is queued if all host memory in it is from aclrtMallocHost, else when it is done.
Status copy_memory(const Copy& copy, void* stream);

struct Fill {
  void* at;
  size_t room;  // maxCount
  uint8_t byte;
  size_t bytes;
};
Status fill_memory(const Fill& fill);
Status fill_memory(const Fill& fill, void* stream);

// The number is aclrtMemAttr's.
Status memory_info(int32_t attribute, size_t* free, size_t* total);

}  // namespace descend
