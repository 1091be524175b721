// SPDX-License-Identifier: MIT
// Allocating and freeing memory, and asking how much there is.
#include "src/runtime/memory.h"

#include <limits>

#include "src/runtime/allocations.h"
#include "src/runtime/context.h"
#include "src/runtime/observed.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

constexpr size_t kGranule = 32;

Status out_of_memory(size_t bytes, const MemoryInfo& info) {
  return violation(Code::kOutOfMemory, "size", cat("fits into the ", info.free, " bytes that are free"), cat(bytes));
}

Status is_size(const void* pointer, const char* parameter, size_t bytes) {
  if (Status s = not_null(pointer, parameter); !s.ok()) return s;
  return bytes > 0 ? Status() : violation(Code::kInvalidParam, "size", "is more than 0", "0");
}

// Makes the memory known; gives it back if that fails.
void* remember(Allocation allocation) {
  const auto give_back = [&](void* memory) {
    if (allocation.kind == MemoryKind::kDevice)
      allocation.device->free(memory);
    else
      allocation.device->free_host(memory);
  };
  std::unique_ptr<void, decltype(give_back)> memory(allocation.begin, give_back);
  allocation.memory = allocation.begin;
  observe([&](Observer& o) { o.allocated(allocation); });
  allocations().add(allocation);
  memory.release();
  return allocation.begin;
}

Status not_an_allocation(const char* parameter, const char* rule, const void* memory) {
  return violation(Code::kParamInvalid, parameter, rule, describe_address(memory));
}

}  // namespace

Status allocate_device_memory(void** memory, size_t bytes, Padding padding) {
  if (Status s = is_size(memory, "devPtr", bytes); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  Device& device = *context->device.device;
  if (bytes > std::numeric_limits<size_t>::max() - 2 * kGranule) return out_of_memory(bytes, device.memory());
  const size_t all = (bytes + kGranule - 1) / kGranule * kGranule + (padding == Padding::kExtra ? kGranule : 0);
  void* begin = device.allocate(all);
  if (begin == nullptr) return out_of_memory(bytes, device.memory());
  *memory = remember({static_cast<std::byte*>(begin), all, MemoryKind::kDevice, &device, context->device_id, bytes});
  return {};
}

Status free_device_memory(void* memory) {
  if (Status s = not_null(memory, "devPtr"); !s.ok()) return s;
  // Forgotten before it is given back: the next allocation may have the same address.
  const auto allocation = allocations().remove(memory, MemoryKind::kDevice);
  if (!allocation) {
    // Observers know whether it was freed before.
    if (!allocations().find(memory))
      observe([&](Observer& o) {
        (void)o.submitting(nullptr, {.function = current_function(), .to = memory, .bytes = 1});
      });
    return not_an_allocation("devPtr", "is what aclrtMalloc returned and was not freed", memory);
  }
  observe([&](Observer& o) { o.freeing(*allocation); });
  allocation->device->free(allocation->memory);
  return {};
}

Status allocate_host_memory(void** memory, size_t bytes) {
  if (Status s = is_size(memory, "hostPtr", bytes); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  Device& device = *context->device.device;
  void* begin = device.allocate_host(bytes);
  if (begin == nullptr)
    return violation(Code::kOutOfMemory, "size", "fits into the memory of the host that is free", cat(bytes));
  *memory = remember({static_cast<std::byte*>(begin), bytes, MemoryKind::kHost, &device, context->device_id, bytes});
  return {};
}

Status free_host_memory(void* memory) {
  if (Status s = not_null(memory, "hostPtr"); !s.ok()) return s;
  const auto allocation = allocations().remove(memory, MemoryKind::kHost);
  if (!allocation) return not_an_allocation("hostPtr", "is what aclrtMallocHost returned and was not freed", memory);
  observe([&](Observer& o) { o.freeing(*allocation); });
  allocation->device->free_host(allocation->memory);
  return {};
}

Status memory_info(int32_t attribute, size_t* free, size_t* total) {
  // DDR and HBM, plain, huge and normal, are one memory here; there is no P2P window and there are no 1 GiB pages.
  constexpr int32_t kLastOfPlain = 5, kLast = 11;
  if (Status s = is_between(attribute, 0, kLast, "attr"); !s.ok()) return s;
  if (Status s = not_null(free, "free"); !s.ok()) return s;
  if (Status s = not_null(total, "total"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  const MemoryInfo info = attribute <= kLastOfPlain ? context->device.device->memory() : MemoryInfo{};
  *free = info.free;
  *total = info.total;
  return {};
}

}  // namespace descend
