// SPDX-License-Identifier: MIT
// Counting what is unfinished, and the wait at the end.
#include "src/backends/cuda/unfinished.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "src/backends/cuda/fork.h"

namespace descend {
namespace {

constexpr std::chrono::seconds kLongest(1);

struct Unfinished {
  std::mutex mutex;
  std::condition_variable less;
  int count = 0;
};
Unfinished& unfinished() {
  static Unfinished& one = *new Unfinished;
  return one;
}

thread_local bool is_thread_of_a_queue = false;

void at_exit() {
  if (cuda_is_the_parents()) return;
  const int own = is_thread_of_a_queue ? 1 : 0;
  std::unique_lock lock(unfinished().mutex);
  unfinished().less.wait_for(lock, kLongest, [&] { return unfinished().count <= own; });
}

}  // namespace

void unfinished_begins() {
  if (cuda_is_the_parents()) return;  // who may have held the lock
  // CUDA is in use by now, so that its own handlers were registered before this one and run after it.
  static const int registered = std::atexit(at_exit);
  (void)registered;
  const std::lock_guard lock(unfinished().mutex);
  ++unfinished().count;
}

void unfinished_ends() {
  if (cuda_is_the_parents()) return;
  const std::lock_guard lock(unfinished().mutex);
  --unfinished().count;
  unfinished().less.notify_all();
}

void thread_of_a_queue() { is_thread_of_a_queue = true; }

}  // namespace descend
