// SPDX-License-Identifier: MIT
// The cpu device: its parts put together.
#include "src/backends/cpu/device.h"

#include "src/backends/cpu/event.h"
#include "src/backends/cpu/memory.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/queue.h"
#include "src/backends/cpu/stream.h"
#include "src/base/text.h"

namespace descend {

std::string CpuDevice::description() const { return cat(kind_, ", up to ", parallel_width(), " threads"); }

void* CpuDevice::allocate(size_t bytes) { return allocate_block(bytes); }

void CpuDevice::free(void* memory) {
  if (memory != nullptr) Queue::release_after_all(memory, free_block);
}

Status CpuDevice::copy(void* to, const void* from, size_t bytes) {
  copy_bytes(to, from, bytes);
  return {};
}

Status CpuDevice::fill(void* at, uint8_t byte, size_t bytes) {
  fill_bytes(at, byte, bytes);
  return {};
}

std::unique_ptr<Stream> CpuDevice::make_stream(Status*) { return std::make_unique<CpuStream>(); }
std::unique_ptr<Event> CpuDevice::make_event() { return std::make_unique<CpuEvent>(); }
MemoryInfo CpuDevice::memory() const { return machine_memory(); }

}  // namespace descend
