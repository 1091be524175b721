// SPDX-License-Identifier: MIT
// The queue behind a stream of the cpu device: tasks in order, and the one thread that runs them.
#pragma once
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "src/backends/cpu/event.h"
#include "src/backends/cpu/fork.h"
#include "src/device/device.h"

namespace descend {

struct Task {
  std::function<Status()> work;       // empty: nothing but its place in the order
  std::shared_ptr<void> keeps_alive;  // let go when the task's turn has come
  bool always = false;                // not dropped with the stream or after a failure; must not fail or block
  bool awaits_others = false;         // ends when the program has done something elsewhere
};

// Shared by the stream, its thread and the list of all queues, so that running work outlives the stream.  Tasks run one
// at a time, in order, either on the queue's thread (started for a task that needs it, ended when there was none for a
// while) or on the thread of a caller for which the queue was empty.
class Queue {
 public:
  static std::shared_ptr<Queue> make();  // and adds it to the list of queues

  // Whether the calling thread's stack is large enough for work to run there.
  static bool has_room_here();
  // Runs `work` here and now if nothing else is queued or running; tasks that arrive meanwhile wait for it.
  bool try_run(FunctionRef<Status()> work);
  // In a synchronous process returns when the task is done, unless it, or one before it, awaits others, or the caller
  // is a task itself: these may wait for the caller.
  Status push(Task task);
  // The event captures a point that is completed once everything pushed before is done; on failure it stays as it is.
  Status record(EventState& event);
  Status wait(std::shared_ptr<EventState> event, std::shared_ptr<EventPoint> point, Timeout timeout);

  bool idle() const { return state_.load(std::memory_order_acquire) == kIdle; }
  // Waits for what was pushed before the call.
  Status synchronize(Timeout timeout);
  // For who waits for a point of this queue: fails when there is no thread for what is before it.
  Status go_on();
  // For who looks whether something is reached, and finds that it is not: it may be in any queue.
  static void go_on_where_left() {
    if (some_left_.load(std::memory_order_relaxed)) [[unlikely]]
      find_runners();
  }
  void stop_on_failure(bool stop);
  void on_failure(std::function<void(const Status&)> listener) { listener_ = std::move(listener); }  // before any work
  // The stream is gone: drops what has not begun; the thread ends after what is left.
  void close();

  uint32_t generation() const { return generation_; }

  // Calls give_back(memory) after what every queue holds now; at once when they hold nothing.
  static void release_after_all(void* memory, void (*give_back)(void*)) noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;

  // What state_ is when it is not a thread: the one that runs work of try_run which the lock has not seen.  Such work
  // takes two atomic operations instead of the lock's four, of which each is 3 % of a small call.
  static constexpr pthread_t kIdle = 0;
  static constexpr pthread_t kBusy = 1;  // pushed_ != finished_

  // Calls `queued` with the lock, before the task runs.  A task that is refused stays the caller's.
  Status push(Lock& lock, Task&& task, FunctionRef<void()> queued);

  // With the lock.  Work that the lock has not seen is a task from now on.
  bool adopt();      // false when the queue is idle
  void make_busy();  // for a task that is about to be pushed
  void count_running(pthread_t runner);

  void end_in_order(Status status);     // of try_run's work, when it failed or the lock has seen it
  bool end(Lock& lock, Status status);  // takes the lock again; false when this is another process by now
  bool run_front(Lock& lock);           // takes out the first task and runs it without the lock; as `end`
  bool run_tasks(Lock& lock);           // all there are up to one that awaits others, if nobody else does; as `end`
  void look_at_dropping();              // with the lock, after a change of what it depends on
  Status await(Lock& lock, uint64_t ticket, Timeout timeout);
  static bool is_in_a_task();  // of any queue, which the calling thread runs
  bool runs_here() const { return running_ && runner_ == pthread_self(); }
  Status start_thread();
  // With the lock, which they may let go meanwhile.
  void hand_over(Lock& lock);             // what is left, by who has run tasks or was to
  void run_dropping(Lock& lock);          // of a closed queue without a thread: somebody may wait for a point in it
  void leave_list_when_over(Lock& lock);  // closed, and memory that its work used may be given back
  Status find_runner();                   // for tasks that are left because no thread could be started; with the lock
  void run_thread();
  void keep_until_done(const std::shared_ptr<void>& memory);
  void tell(const Status& status) const;  // without the lock
  Status wait_here(const std::shared_ptr<EventPoint>& point, Timeout timeout);
  static void find_runners();  // for all queues
  void enter_list();
  void leave_list();

  static inline std::atomic<bool> some_left_{false};  // some queue has tasks for which no thread could be started

  const uint32_t generation_ = fork_generation();
  std::weak_ptr<Queue> self_;
  std::function<void(const Status&)> listener_;

  std::mutex mutex_;  // guards what follows; never held while a task runs
  std::condition_variable work_;
  std::condition_variable done_;
  std::list<Task> tasks_;
  uint64_t pushed_ = 0;
  uint64_t finished_ = 0;
  int awaiting_others_ = 0;        // tasks that are not finished
  uint64_t wake_at_ = UINT64_MAX;  // the least of finished_ that somebody waits for
  bool running_ = false;
  pthread_t runner_{};
  bool has_thread_ = false;
  bool stop_ = false;
  Status failure_;
  std::shared_ptr<EventPoint> awaited_;  // what the running task waits for

  std::atomic<pthread_t> state_{kIdle};  // leaves kBusy with the lock only
  // Changed with the lock, read without.
  std::atomic<bool> closed_{false};
  std::atomic<bool> dropping_{false};  // closed, or to stop after the failure there was
};

}  // namespace descend
