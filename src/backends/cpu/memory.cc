// SPDX-License-Identifier: MIT
// Blocks from the C library, with huge pages for large ones; sizes from /proc and the control group.
#include "src/backends/cpu/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "src/backends/cpu/parallel.h"

namespace descend {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{4} << 20;   // from here on a block is made of huge pages
constexpr size_t kStep = size_t{256} << 20;  // whenever so much more is handed out, the system is asked what it has
constexpr int64_t kMoveGrain = int64_t{1} << 20;  // bytes a core moves at a time
constexpr size_t kMoveParallel = size_t{4} << 20;

std::atomic<int64_t> live{0};      // blocks
std::atomic<size_t> allocated{0};  // bytes in them

// The number after `key` in a file of lines "key number".
std::optional<uint64_t> number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  uint64_t number = 0;
  while (file >> word) {
    if (word == key && file >> number) return number;
    file.clear();
    file.ignore(1 << 16, '\n');
  }
  return std::nullopt;
}

// The number a file consists of; empty for "max".
std::optional<uint64_t> number_of(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Lowers `info` to the limit of the control group in this folder, if it has one.
void apply_group_limit(const std::string& folder, MemoryInfo& info) {
  const auto limit = number_of(folder + "/memory.max");
  if (!limit) return;
  info.total = std::min<size_t>(info.total, *limit);
  // Cached files count as used but are given up when memory is wanted.
  const uint64_t cached = number_in(folder + "/memory.stat", "inactive_file").value_or(0);
  const uint64_t current = number_of(folder + "/memory.current").value_or(0);
  const uint64_t used = current - std::min(cached, current);
  info.free = std::min<size_t>(info.free, *limit - std::min(used, *limit));
}

// "/user.slice/x" of the line "0::/user.slice/x".
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

// Asked for once; by two threads at once twice, with the same answer.  No static of the function: a child whose parent
// forked while another thread asked would wait for that thread's answer.
size_t total_memory() {
  static constinit std::atomic<size_t> known{0};
  size_t total = known.load(std::memory_order_relaxed);
  if (total == 0) known.store(total = machine_memory().total, std::memory_order_relaxed);
  return total;
}

// Whether the system has so many bytes now.  It would promise them without having them, and end the process that uses
// them.
bool available(size_t bytes) {
  const size_t handed_out = allocated.load(std::memory_order_relaxed);
  if (handed_out / kStep == (handed_out + bytes) / kStep) return true;
  size_t free = machine_memory().free;
  if (bytes <= free) return true;
  free += number_in("/proc/meminfo", "SwapFree:").value_or(0) * 1024;
  free += mallinfo2().fordblks;  // given back to the C library, which has kept it
  return bytes <= free;
}

bool overlap(const void* a, const void* b, size_t bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x < y ? y - x < bytes : x - y < bytes;
}

}  // namespace

void* allocate_block(size_t bytes) {
  // More than the machine has cannot be used, whatever the C library promises; this also keeps the sums below exact.
  const size_t total = total_memory();
  if (bytes > total || allocated.load(std::memory_order_relaxed) > total - bytes || !available(bytes)) return nullptr;
  const size_t alignment = bytes >= kLarge ? kHugePage : kAlignment;
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  // Advice: a kernel that has no huge pages says no, and the block is as good.
  if (block != nullptr && bytes >= kLarge) madvise(block, rounded, MADV_HUGEPAGE);
#endif
  if (block == nullptr) return nullptr;
  live.fetch_add(1, std::memory_order_relaxed);
  allocated.fetch_add(malloc_usable_size(block), std::memory_order_relaxed);
  return block;
}

void free_block(void* block) {
  live.fetch_sub(1, std::memory_order_relaxed);
  allocated.fetch_sub(malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}

int64_t live_blocks() { return live.load(std::memory_order_relaxed); }

MemoryInfo machine_memory() {
  constexpr uint64_t kKibi = 1024;
  const uint64_t installed = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)) / kKibi;
  MemoryInfo info;
  info.total = number_in("/proc/meminfo", "MemTotal:").value_or(installed) * kKibi;
  info.free = number_in("/proc/meminfo", "MemAvailable:").value_or(installed) * kKibi;
  // A container sees its own group as the root; elsewhere the group has a path, and any group above may be tighter.
  std::string group = own_group();
  while (!group.empty() && group != "/") {
    apply_group_limit("/sys/fs/cgroup" + group, info);
    group.resize(group.rfind('/'));
  }
  apply_group_limit("/sys/fs/cgroup", info);
  // Memory that was handed out but not written yet is still free for the system; it is not for this device.
  info.free = std::min(info.free, info.total - std::min(info.total, allocated.load(std::memory_order_relaxed)));
  return info;
}

void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes < kMoveParallel || overlap(to, from, bytes)) {
    if (bytes > 0) std::memmove(to, from, bytes);
    return;
  }
  parallel_for(static_cast<int64_t>(bytes), kMoveGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

void fill_bytes(void* at, uint8_t byte, size_t bytes) {
  if (bytes == 0) return;
  parallel_for(static_cast<int64_t>(bytes), kMoveGrain * 4, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char*>(at) + begin, byte, static_cast<size_t>(end - begin));
  });
}

}  // namespace descend
