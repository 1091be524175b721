// SPDX-License-Identifier: MIT
// The memory of emulated_runtime.h's cards, which is the host's, and copies.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/plugin/emulated_machine.h"

using namespace descend::emulated;

namespace {

// The block that an address is in.
std::map<const char*, Block>::iterator block_of(std::map<const char*, Block>& blocks, const void* address) {
  const auto* const at = static_cast<const char*>(address);
  auto behind = blocks.upper_bound(at);
  if (behind == blocks.begin()) return blocks.end();
  const auto [begin, block] = *--behind;
  return at < begin + block.bytes ? behind : blocks.end();
}
bool is_pageable(const void* address) {
  Machine& m = machine();
  return block_of(m.device_memory, address) == m.device_memory.end() &&
         block_of(m.pinned_memory, address) == m.pinned_memory.end();
}

// Memory that is free, or new, holds this, at its beginning: enough for a test to see, not so much that it takes time.
void write_over(void* memory, size_t bytes) { std::memset(memory, 0xdb, std::min<size_t>(bytes, 1 << 20)); }

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int card) {
  static int pools[kCards];
  const Lock lock(machine().mutex);
  *pool = reinterpret_cast<cudaMemPool_t>(&pools[card]);
  return answer(cudaSuccess);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {  // nothing is kept
  *static_cast<uint64_t*>(value) = 0;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Lock lock(machine().mutex);
  *total = kMemory;
  *free = kMemory - machine().used[current_card];
  return answer(cudaSuccess);
}
cudaError_t cudaMallocAsync(void** memory, size_t bytes, cudaStream_t stream) {
  constexpr size_t kLine = 256;
  Machine& m = machine();
  const Lock lock(m.mutex);
  bytes = (bytes + kLine - 1) / kLine * kLine;
  if (bytes > kMemory - m.used[stream->card]) return answer(cudaErrorMemoryAllocation, stream->card);
  *memory = std::aligned_alloc(kLine, bytes);
  if (*memory == nullptr) return answer(cudaErrorMemoryAllocation, stream->card);
  m.used[stream->card] += bytes;
  m.device_memory[static_cast<const char*>(*memory)] = {stream->card, bytes};
  queue(stream, [memory = *memory, bytes] { return write_over(memory, bytes), cudaSuccess; });  // not yet for others
  return answer(cudaSuccess, stream->card);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  if (!machine().device_memory.contains(static_cast<const char*>(memory)))
    return answer(cudaErrorInvalidValue, stream->card);
  const auto give_back = [memory] {
    Machine& m = machine();
    const Lock again(m.mutex);
    const auto block = m.device_memory.find(static_cast<const char*>(memory));
    write_over(memory, block->second.bytes);
    m.used[block->second.card] -= block->second.bytes;
    m.device_memory.erase(block);
    std::free(memory);
    return cudaSuccess;
  };
  queue(stream, give_back, true);
  return answer(cudaSuccess, stream->card);
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  const Lock lock(machine().mutex);
  constexpr size_t kPage = 4096;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  *memory = std::aligned_alloc(kPage, bytes);
  if (*memory == nullptr) return answer(cudaErrorMemoryAllocation);
  machine().pinned_memory[static_cast<const char*>(*memory)] = {current_card, bytes};
  return answer(cudaSuccess);
}
cudaError_t cudaFreeHost(void* memory) {  // waits for all cards
  Machine& m = machine();
  Lock lock(m.mutex);
  const auto block = m.pinned_memory.find(static_cast<const char*>(memory));
  if (block == m.pinned_memory.end()) return answer(cudaErrorInvalidValue);
  m.changed.wait(lock, [&] {
    return std::all_of(m.streams.begin(), m.streams.end(), [](cudaStream_t s) { return s->done == s->begun; });
  });
  write_over(memory, block->second.bytes);
  m.pinned_memory.erase(block);
  std::free(memory);
  return answer(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  Lock lock(machine().mutex);
  const auto first = reinterpret_cast<uintptr_t>(to), second = reinterpret_cast<uintptr_t>(from);
  if (first < second + bytes && second < first + bytes) return answer(cudaErrorInvalidValue, stream->card);
  std::function<cudaError_t()> copy = [=] { return std::memcpy(to, from, bytes), cudaSuccess; };
  if (is_pageable(from)) {
    const auto* const bytes_there = static_cast<const char*>(from);
    copy = [to, staged = std::vector<char>(bytes_there, bytes_there + bytes)] {
      return std::memcpy(to, staged.data(), staged.size()), cudaSuccess;
    };
  }
  queue(stream, std::move(copy));
  if (is_pageable(to)) wait_for(lock, stream);
  return answer(cudaSuccess, stream->card);
}
cudaError_t cudaMemsetAsync(void* at, int byte, size_t bytes, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  queue(stream, [=] { return std::memset(at, byte, bytes), cudaSuccess; });
  return answer(cudaSuccess, stream->card);
}
