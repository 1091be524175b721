// SPDX-License-Identifier: MIT
// The process's and the threads' state, and what becomes of both at exit and after a fork.
#include "src/runtime/process.h"

#include <pthread.h>

#include "src/runtime/allocations.h"

namespace descend {
namespace {

pthread_key_t thread_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* state) {
      detail::the_thread = nullptr;
      delete static_cast<ThreadState*>(state);
    });
    return made;
  }();
  return key;
}

// In the order in which they are taken elsewhere.
void before_fork() {
  Process& all = process();
  all.mutex.lock();
  all.contexts.lock_for_fork();
  all.streams.lock_for_fork();
  all.events.lock_for_fork();
  allocations().lock_for_fork();
}

void after_fork_in_parent() {
  Process& all = process();
  allocations().unlock_after_fork();
  all.events.unlock_after_fork();
  all.streams.unlock_after_fork();
  all.contexts.unlock_after_fork();
  all.mutex.unlock();
}

void after_fork_in_child() {
  Process& all = process();
  allocations().renew_after_fork();
  all.events.renew_after_fork();
  all.streams.renew_after_fork();
  all.contexts.renew_after_fork();
  new (&all.mutex) std::mutex;
  all.initializing = new std::mutex;
  all.reports = new Reports;
  if (detail::the_thread == nullptr) return;
  detail::the_thread->inside_stream = 0;
  detail::the_thread->inside_call = nullptr;
}

}  // namespace

Process& process() {
  static Process& all = *[] {
    auto* const made = new Process;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
  }();
  return all;
}

constinit thread_local ThreadState* detail::the_thread = nullptr;

ThreadState& detail::make_thread_state() {
  the_thread = new ThreadState;
  pthread_setspecific(thread_key(), the_thread);
  return *the_thread;
}

Status may_wait_for(uint32_t stream_id) {
  const uint32_t inside = thread_state().inside_stream;
  if (inside == 0 || (stream_id != 0 && stream_id != inside)) return {};
  return {Code::kNotSupported, "a host function must not wait for the stream that runs it",
          "queue the rest of the work from another thread, or launch it before the host function"};
}

}  // namespace descend
