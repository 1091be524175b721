// SPDX-License-Identifier: MIT
// Trying how many threads can be made.
#include "src/backends/cpu/spare_threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace descend {
namespace {

// A thread that was joined still counts for a moment: its replacement was refused in 1 of 105000 tries.  When it has no
// number any more it does not.  Another thread may have got the number, so the wait has an end.
void wait_until_gone(intptr_t thread) {
  constexpr int kLongEnough = 10'000;
  for (int i = 0; i < kLongEnough && syscall(SYS_tgkill, getpid(), thread, 0) == 0; ++i) sched_yield();
}

}  // namespace

SpareThreads spare_threads(int wanted, size_t stack_bytes) {
  std::vector<pthread_t> threads(static_cast<size_t>(wanted));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  // Signals are for the program's threads; and a caller that is cancelled is so when these have ended.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int cancellation = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);

  SpareThreads spare;
  std::mutex gate;
  const auto pass = [](void* closed) -> void* {
    const std::lock_guard passing(*static_cast<std::mutex*>(closed));
    return reinterpret_cast<void*>(static_cast<intptr_t>(syscall(SYS_gettid)));
  };
  gate.lock();
  for (pthread_t& thread : threads) {
    spare.error = pthread_create(&thread, &attributes, pass, &gate);
    if (spare.error != 0) break;
    ++spare.count;
  }
  gate.unlock();
  for (int i = 0; i < spare.count; ++i) {
    void* id = nullptr;
    pthread_join(threads[static_cast<size_t>(i)], &id);
    wait_until_gone(reinterpret_cast<intptr_t>(id));
  }

  pthread_setcancelstate(cancellation, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return spare;
}

}  // namespace descend
