// SPDX-License-Identifier: MIT
// The only file that knows oneTBB.  It is built without the thread sanitizer, which would take oneTBB's templates for
// races because it cannot see the library's own ordering; parallel.cc, built with it, states the ordering.
#include "src/backends/cpu/arena.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "src/backends/cpu/fork.h"
#include "src/backends/cpu/spare_threads.h"
#include "src/base/leaf_mutex.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace descend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kNever = UINT32_MAX;
std::atomic<uint32_t> first_used_in{kNever};  // the fork generation that started oneTBB
std::atomic<bool> ending{false};

// Held by a thread on its way into oneTBB.  Constant from the start: the thread sanitizer, which sees who locks it,
// does not see in this file who made it.
constinit std::mutex entering;
// A child cannot use the oneTBB that its parent started.
bool started_by_parent() {
  const uint32_t used_in = first_used_in.load(std::memory_order_relaxed);
  return used_in != kNever && used_in != fork_generation();
}

// Destroyed when the process ends, before what oneTBB's library has, which was loaded earlier.  Threads on their way in
// look at that, so they are waited for, and no more are let in; loops that are in already do not look.
const struct EndOfProcess {
  ~EndOfProcess() {
    if (started_by_parent()) return;  // the lock may be held for ever by a thread that is not here
    // Not for long: a signal handler that ends the process may have interrupted who holds the lock.
    const auto latest = Clock::now() + std::chrono::seconds(1);
    std::unique_lock lock(entering, std::try_to_lock);
    while (!lock.owns_lock() && Clock::now() < latest) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      (void)lock.try_lock();
    }
    ending.store(true, std::memory_order_relaxed);
  }
} end_of_process;

struct Arena {
  Arena(int width, int threads) : width(width), threads(threads), arena(threads) {}
  const int width;    // asked for
  const int threads;  // that can be had; with one, the loop's own, the arena is not used
  tbb::task_arena arena;
};

// oneTBB runs no more threads than there are cores unless told so, and of several permissions the least counts: there
// is one, for the widest arena so far, or for as many as there can be.
void permit(int threads, bool no_more) {
  static int permitted = tbb::info::default_concurrency();
  static std::unique_ptr<tbb::global_control>& permission = *new std::unique_ptr<tbb::global_control>;
  if (threads <= permitted && !no_more) return;
  permission.reset();
  permission = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, threads);
  permitted = threads;
}

// How many threads an arena of this width gets, its caller's among them, and why they are fewer.  Where oneTBB cannot
// make one that it counts on, it throws in another of its threads, and the process ends: so they are tried before.
int threads_for(int width, std::string& why_fewer) {
  static int others = 0;  // that oneTBB has
  const int more = width - 1 - others;
  if (more <= 0) return width;
  // Streams and the program need some, too: these, or where not even these are there, half of them.
  constexpr int kForThem = 4;
  const size_t stack = tbb::global_control::active_value(tbb::global_control::thread_stack_size);
  const SpareThreads spare = spare_threads(more + kForThem, stack);
  others += std::min(more, std::max(spare.count / 2, spare.count - kForThem));
  const int threads = others + 1;
  if (threads < width)
    why_fewer = cat("the cpu device computes with ", threads, threads == 1 ? " thread" : " threads", " instead of ",
                    width, ", because not as many can be made: ", std::generic_category().message(spare.error),
                    " (pids.max of the control group and RLIMIT_NPROC are such limits)");
  permit(threads, threads < width);
  return threads;
}

// Has oneTBB make the arena's threads while it is known that they can be made; it would make each when it first needs
// it.  On a busy machine they may not all run within the time.
void start_threads(Arena& arena) {
  if (arena.threads == 1) return;
  const auto latest = Clock::now() + std::chrono::milliseconds(20);
  std::atomic<int> here{0};
  const auto wait_for_all = [&](int) {
    ++here;
    while (here < arena.threads && Clock::now() < latest) std::this_thread::yield();
  };
  arena.arena.execute([&] { tbb::parallel_for(0, arena.threads, wait_for_all, tbb::static_partitioner()); });
}

// Held while oneTBB counts the cores, for which others wait in it: so a fork waits, too, and no child waits for ever.
LeafMutex& counting = *new LeafMutex;

// A loop of no more parts is dealt out once, half of it to each of two threads: parts that change hands one by one take
// 0.7 to 1.2 us longer (two Neoverse N1 cores, 8 to 32 parts), of a call that may take 20.  In a longer one threads
// take parts as they get on, since one that is held up would hold up the others.
constexpr int64_t kFewParts = 32;

std::atomic<Arena*> current{nullptr};

// The arena of this width, made at its first use and kept: a loop may still be in it when the width changes.  None
// where the process has begun to end and this would be the thread's first loop or the arena's.
Arena* arena_of(int width) {
  thread_local bool known_to_tbb = false;
  if (Arena* arena = current.load(std::memory_order_acquire); known_to_tbb && arena != nullptr && arena->width == width)
    return arena;
  uint32_t never = kNever;
  first_used_in.compare_exchange_strong(never, fork_generation());
  std::string why_fewer;
  Arena* found = nullptr;
  {
    const std::lock_guard lock(entering);
    if (ending.load(std::memory_order_relaxed)) return nullptr;
    static auto& arenas = *new std::map<int, std::unique_ptr<Arena>>;
    std::unique_ptr<Arena>& arena = arenas[width];
    if (arena == nullptr) {
      arena = std::make_unique<Arena>(width, threads_for(width, why_fewer));
      arena->arena.initialize();
      start_threads(*arena);
    }
    tbb::this_task_arena::isolate([] {});  // nothing but making this thread known
    known_to_tbb = true;
    found = arena.get();
    current.store(found, std::memory_order_release);
  }
  if (!why_fewer.empty()) log(LogLevel::kWarning, why_fewer);
  return found;
}

}  // namespace

bool arena_usable() { return !started_by_parent() && !ending.load(std::memory_order_relaxed); }

int arena_cores() {
  static constinit std::atomic<int> known{0};
  if (const int cores = known.load(std::memory_order_relaxed); cores != 0) return cores;
  const std::lock_guard lock(counting);
  const int cores = tbb::info::default_concurrency();
  known.store(cores, std::memory_order_relaxed);
  return cores;
}

void run_in_arena(int width, int64_t count, FunctionRef<void(int64_t first, int64_t last)> body) {
  Arena* const arena = arena_of(width);
  if (arena == nullptr || arena->threads == 1) return body(0, count);
  arena->arena.execute([&] {
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
