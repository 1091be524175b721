// SPDX-License-Identifier: MIT
// The only file that knows oneTBB.  It is built without the thread sanitizer, which would take oneTBB's templates for
// races because it cannot see the library's own ordering; parallel.cc, built with it, states the ordering.
#include "src/backends/cpu/arena.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "src/backends/cpu/fork.h"

namespace descend {
namespace {

constexpr uint32_t kNever = UINT32_MAX;
std::atomic<uint32_t> first_used_in{kNever};  // the fork generation that started oneTBB
std::atomic<bool> ending{false};

struct Arena {
  explicit Arena(int width) : width(width), arena(width) {}
  const int width;
  tbb::task_arena arena;
};

// oneTBB runs no more threads than there are cores unless told so, and of several permissions the least counts: there
// is one, for the widest arena so far.
void permit(int width) {
  static int permitted = tbb::info::default_concurrency();
  static std::unique_ptr<tbb::global_control>& permission = *new std::unique_ptr<tbb::global_control>;
  if (width <= permitted) return;
  permission.reset();
  permission = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, width);
  permitted = width;
}

// A loop of no more parts is dealt out once, half of it to each of two threads: parts that change hands one by one take
// 0.7 to 1.2 us longer (two Neoverse N1 cores, 8 to 32 parts), of a call that may take 20.  In a longer one threads
// take parts as they get on, since one that is held up would hold up the others.
constexpr int64_t kFewParts = 32;

std::atomic<Arena*> current{nullptr};

// The arena of this width, made at its first use and kept: a loop may still be in it when the width changes.
Arena& arena_of(int width) {
  if (Arena* arena = current.load(std::memory_order_acquire); arena != nullptr && arena->width == width) return *arena;
  static std::mutex& mutex = *new std::mutex;
  static auto& arenas = *new std::map<int, std::unique_ptr<Arena>>;
  uint32_t never = kNever;
  if (first_used_in.compare_exchange_strong(never, fork_generation())) {
    // Runs before oneTBB's own end, whose library was loaded earlier: from then on loops stay on their thread.
    std::atexit([] { ending.store(true, std::memory_order_relaxed); });
  }
  const std::lock_guard lock(mutex);
  std::unique_ptr<Arena>& arena = arenas[width];
  if (arena == nullptr) {
    permit(width);
    arena = std::make_unique<Arena>(width);
  }
  current.store(arena.get(), std::memory_order_release);
  return *arena;
}

}  // namespace

bool arena_usable() {
  const uint32_t used_in = first_used_in.load(std::memory_order_relaxed);
  return (used_in == kNever || used_in == fork_generation()) && !ending.load(std::memory_order_relaxed);
}

int arena_cores() {
  static const int cores = tbb::info::default_concurrency();
  return cores;
}

void run_in_arena(int width, int64_t count, FunctionRef<void(int64_t first, int64_t last)> body) {
  arena_of(width).arena.execute([&] {
    // Isolated: while this thread waits for its chunks it must not start somebody else's, which could be long or use
    // the same thread-local buffers.
    tbb::this_task_arena::isolate([&] {
      const tbb::blocked_range<int64_t> all(0, count);
      const auto run = [&](const tbb::blocked_range<int64_t>& part) { body(part.begin(), part.end()); };
      if (count <= kFewParts)
        tbb::parallel_for(all, run, tbb::static_partitioner());
      else
        tbb::parallel_for(all, run);
    });
  });
}

}  // namespace descend
