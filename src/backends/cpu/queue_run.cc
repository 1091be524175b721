// SPDX-License-Identifier: MIT
// Running tasks one at a time, in order.
#include "src/backends/cpu/queue.h"

#include "src/base/stream_work.h"

namespace descend {
namespace {

// How many tasks the thread runs: a function of the program that one calls may start others, on other streams.
thread_local int tasks_here = 0;
struct TaskHere {
  TaskHere() { ++tasks_here; }
  ~TaskHere() { --tasks_here; }
};

}  // namespace

bool Queue::is_in_a_task() { return tasks_here > 0; }

void Queue::count_running(pthread_t runner) {
  ++pushed_;
  running_ = true;
  runner_ = runner;
}

bool Queue::adopt() {
  pthread_t state = state_.load(std::memory_order_acquire);
  while (state > kBusy && !state_.compare_exchange_weak(state, kBusy, std::memory_order_acq_rel)) continue;
  if (state > kBusy) count_running(state);
  return state != kIdle;
}

void Queue::make_busy() {
  const pthread_t before = state_.exchange(kBusy, std::memory_order_acq_rel);
  if (before > kBusy) count_running(before);
}

void Queue::look_at_dropping() {
  dropping_.store(closed_.load(std::memory_order_relaxed) || (stop_ && !failure_.ok()), std::memory_order_relaxed);
}

void Queue::tell(const Status& status) const {
  if (!status.ok() && listener_) [[unlikely]]
    listener_(status);
}

bool Queue::end(Lock& lock, Status status) {
  // The work forked and this is the child: the lock and the order are the parent's.
  if (generation_ != fork_generation()) [[unlikely]]
    return false;
  lock.lock();
  adopt();
  running_ = false;
  ++finished_;
  if (!status.ok() && failure_.ok()) [[unlikely]] {
    failure_ = std::move(status);
    look_at_dropping();
  }
  if (finished_ == pushed_) state_.store(kIdle, std::memory_order_release);
  if (finished_ >= wake_at_) {
    wake_at_ = UINT64_MAX;
    done_.notify_all();
  }
  return true;
}

bool Queue::run_front(Lock& lock) {
  running_ = true;
  runner_ = pthread_self();
  Status status;
  bool awaits_others = false;
  {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    awaits_others = task.awaits_others;
    const bool drop = dropping_.load(std::memory_order_relaxed) && !task.always;
    lock.unlock();
    try {
      const TaskHere here;
      if (task.work && !drop) status = guarded(task.work);
      tell(status);
    } catch (...) {  // the program ends this thread: the task is over all the same
      task = {};
      if (end(lock, std::move(status)) && awaits_others) --awaiting_others_;
      throw;
    }
    // What the task holds is let go before it counts as done, and without the lock.
  }
  if (!end(lock, std::move(status))) return false;
  if (awaits_others) --awaiting_others_;
  return true;
}

bool Queue::run_tasks(Lock& lock) {
  try {
    while (!running_ && !tasks_.empty() && !tasks_.front().awaits_others) {
      if (!run_front(lock)) return false;
    }
  } catch (...) {
    // A function of the program ended this thread, and others may wait for tasks that it would have run.
    if (lock.owns_lock()) hand_over(lock);
    throw;
  }
  hand_over(lock);
  return true;
}

bool Queue::try_run(FunctionRef<Status()> work) {
  const pthread_t here = pthread_self();
  pthread_t state = kIdle;
  if (!state_.compare_exchange_strong(state, here, std::memory_order_acquire)) return false;
  Status status;
  if (!dropping_.load(std::memory_order_relaxed)) [[likely]] {
    status = guarded(work);
    try {
      tell(status);
    } catch (...) {  // the program ends this thread: the work is over all the same
      end_in_order(std::move(status));
      throw;
    }
  }
  state = here;
  if (!status.ok() || !state_.compare_exchange_strong(state, kIdle, std::memory_order_release)) [[unlikely]]
    end_in_order(std::move(status));
  return true;
}

void Queue::end_in_order(Status status) {
  Lock lock(mutex_, std::defer_lock);
  if (!end(lock, std::move(status))) return;
  // Whoever pushed a task meanwhile started the thread for it; memory to let go came without one.
  if (has_thread_) {
    work_.notify_one();
  } else {
    run_tasks(lock);
  }
}

}  // namespace descend
