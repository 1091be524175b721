// SPDX-License-Identifier: MIT
// The process's and the threads' state, and what becomes of both at exit and after a fork.
#include "src/runtime/process.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/runtime/allocations.h"

namespace descend {
namespace {

std::atomic<Process*> the_process{nullptr};
std::atomic<uint64_t> the_epoch{1};

// The state is reached through a plain pointer, because functions may still be called while a thread's or the
// program's objects are being destroyed.
thread_local ThreadState* the_thread = nullptr;

struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    // Static destructors run on the main thread after this one: they still find its context.
    if (getpid() == static_cast<pid_t>(syscall(SYS_gettid))) return;
    delete std::exchange(the_thread, nullptr);
  }
};
thread_local ThreadEnd the_end;

void before_fork() { allocations().lock_for_fork(); }
void after_fork_in_parent() { allocations().unlock_after_fork(); }
void after_fork_in_child() {
  allocations().unlock_after_fork();
  auto* fresh = new Process;
  fresh->before_fork = the_process.load();
  the_process.store(fresh);
  if (the_thread != nullptr) {
    ThreadState& thread = *the_thread;
    thread.context.reset();  // the parent's knowledge holds another reference: nothing is destroyed here
    thread.inside_stream = 0;
  }
  next_stream_epoch();
}

Process* first_process() {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  return new Process;
}

}  // namespace

Process& process() {
  if (Process* known = the_process.load(std::memory_order_acquire)) return *known;
  static Process* const first = [] {
    Process* made = first_process();
    the_process.store(made, std::memory_order_release);
    return made;
  }();
  return *first;
}

uint64_t stream_epoch() { return the_epoch.load(std::memory_order_acquire); }
void next_stream_epoch() { the_epoch.fetch_add(1, std::memory_order_acq_rel); }

ThreadState& thread_state() {
  if (the_thread == nullptr) {
    the_thread = new ThreadState;
    the_end.armed = true;  // touching it is what makes its destructor run at the end of the thread
  }
  return *the_thread;
}

Status may_wait_for(uint32_t stream_id) {
  const uint32_t inside = thread_state().inside_stream;
  if (inside == 0 || (stream_id != 0 && stream_id != inside)) return {};
  return {Code::kNotSupported, "a host function must not wait for the stream that runs it",
          "queue the rest of the work from another thread, or launch it before the host function"};
}

}  // namespace descend
