// SPDX-License-Identifier: MIT
// Running tasks in order.
#include "src/backends/cpu/queue.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/stack.h"
#include "src/base/stream_work.h"
#include "src/base/text.h"

namespace descend {
namespace {

// How many tasks the thread runs: a function of the program that one calls may start others, on other streams.
thread_local int tasks_here = 0;
struct TaskHere {
  TaskHere() { ++tasks_here; }
  ~TaskHere() { --tasks_here; }
};

// What is left of a stack on which work may run: a kernel of transposed matrices has 600 KiB of tiles there.
constexpr size_t kRoom = size_t{1} << 20;

// After so long without work a stream's thread ends: a process whose main thread has ended by pthread_exit ends with
// its last one, and threads of streams hear no signal that would end it.  (oneTBB's workers stay: where a loop has
// started them, such a process does not end by itself.  They cannot be given SIGTERM, which a program may block in all
// its threads to wait for it.)
constexpr std::chrono::seconds kPatience(2);

}  // namespace

std::shared_ptr<Queue> Queue::make() {
  auto queue = std::make_shared<Queue>();
  queue->self_ = queue;
  queue->enter_list();
  return queue;
}

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

Status Queue::await(Lock& lock, uint64_t ticket, Timeout timeout) {
  const auto until = std::chrono::steady_clock::now() + (for_ever(timeout) ? Timeout::value_type{} : *timeout);
  while (finished_ < ticket) {
    if (Status s = find_runner(); !s.ok()) return s;
    wake_at_ = std::min(wake_at_, ticket);
    if (for_ever(timeout)) {
      done_.wait(lock);
    } else if (done_.wait_until(lock, until) == std::cv_status::timeout && finished_ < ticket) {
      return {Code::kStreamTimeout, cat("the stream did not finish within ", timeout->count(), " ms")};
    }
  }
  return {};
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
    if (!running_ && !tasks_.empty()) leave_to_thread();
  } catch (...) {
    // A function of the program ended this thread, and others may wait for tasks that it would have run.
    if (lock.owns_lock() && (!tasks_.empty() || closed_.load(std::memory_order_relaxed))) leave_to_thread();
    throw;
  }
  // The stream was destroyed meanwhile: the queue was to stay in the list, for memory that the work used.
  if (closed_.load(std::memory_order_relaxed) && !has_thread_ && !running_) {
    lock.unlock();
    leave_list();
    lock.lock();
  }
  return true;
}

void Queue::leave_to_thread() {
  if (has_thread_) {
    work_.notify_one();
  } else if (Status s = start_thread(); !s.ok()) {
    log(LogLevel::kError, s.message());
    done_.notify_all();  // who waits tries again, and knows whom to tell
  }
}

Status Queue::find_runner() { return tasks_.empty() || running_ || has_thread_ ? Status{} : start_thread(); }

Status Queue::go_on() {
  const Lock lock(mutex_);
  return find_runner();
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

bool Queue::has_room_here() { return stack_left() >= kRoom; }

Status Queue::push(Task task) {
  Lock lock(mutex_);
  return push(lock, std::move(task), [] {});
}

Status Queue::push(Lock& lock, Task&& task, FunctionRef<void()> queued) {
  // A task waits for no other stream: what runs there may wait for this one.
  const bool in_a_task = tasks_here > 0 && !runs_here();
  const bool synchronous = environment().synchronous && !task.awaits_others && awaiting_others_ == 0 && !in_a_task;
  const bool here = synchronous && has_room_here(), awaits_others = task.awaits_others;
  if (closed_.load(std::memory_order_relaxed)) return {Code::kInvalidHandle, "the stream was destroyed"};
  if (!here && !has_thread_) {
    if (Status s = start_thread(); !s.ok()) return s;
  }
  try {
    tasks_.push_back(std::move(task));
  } catch (const std::bad_alloc&) {
    return {Code::kOutOfMemory, "there is no memory to queue work on a stream"};
  }
  make_busy();
  if (awaits_others) ++awaiting_others_;
  const uint64_t ticket = ++pushed_;
  queued();
  if (!here && !running_) work_.notify_one();
  if (!synchronous) return {};
  // Work that adds work to its own stream cannot wait for it; whoever runs the outer work goes on with it.
  if (runs_here()) return {};
  if (here && !run_tasks(lock)) return {};
  (void)await(lock, ticket, std::nullopt);  // without a thread it stays queued: the next synchronisation says so
  return {};
}

// The point is captured with the lock.  Before, a wait of this queue for it could get in front of it, for ever; later,
// an event that two threads record would keep the point of which less is in front.
Status Queue::record(EventState& event) {
  const auto point = std::make_shared<EventPoint>(self_);
  const auto capture = [&] { event.capture(point); };
  Lock lock(mutex_);
  if (idle()) return point->complete(), capture(), Status{};
  return push(lock, {.work = [point] { return point->complete(), Status{}; }, .always = true}, capture);
}

Status Queue::wait(std::shared_ptr<EventState> event, std::shared_ptr<EventPoint> point, Timeout timeout) {
  // Counts from now until the task is over, whether it ran or was dropped.
  event->waiting.fetch_add(1, std::memory_order_relaxed);
  const std::shared_ptr<void> counted(
      nullptr, [event = std::move(event)](void*) { event->waiting.fetch_sub(1, std::memory_order_release); });
  return push({.work = [this, point = std::move(point), timeout] { return wait_here(point, timeout); },
               .keeps_alive = counted,
               .awaits_others = true});
}

Status Queue::wait_here(const std::shared_ptr<EventPoint>& point, Timeout timeout) {
  {
    const Lock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return {};
    awaited_ = point;
  }
  bool in_time = false;
  Status status = point->wait(timeout, closed_, in_time);
  {
    const Lock lock(mutex_);
    awaited_ = nullptr;
  }
  if (!status.ok() || in_time || closed_.load(std::memory_order_relaxed)) return status;
  return {Code::kEventTimeout,
          cat("an event that the stream waits for was not reached within ", timeout->count(), " ms")};
}

Status Queue::synchronize(Timeout timeout) {
  Lock lock(mutex_);
  adopt();
  if (runs_here())
    return {Code::kInternal, "work of a stream waits for its own stream", "Synchronise from another thread."};
  if (Status s = await(lock, pushed_, timeout); !s.ok()) return s;
  Status failure = std::exchange(failure_, Status{});
  look_at_dropping();
  return failure;
}

void Queue::stop_on_failure(bool stop) {
  const Lock lock(mutex_);
  stop_ = stop;
  look_at_dropping();
}

void Queue::close() {
  std::shared_ptr<EventPoint> awaited;
  bool over = false;
  {
    Lock lock(mutex_);
    closed_.store(true, std::memory_order_relaxed);
    look_at_dropping();  // from here on the thread drops what it takes out
    make_busy();         // work that has begun is a task from now on; what begins later sees that it is dropped
    if (finished_ == pushed_) state_.store(kIdle, std::memory_order_release);
    // And where none could be started, this one does: somebody may wait for a point among them.
    while (!has_thread_ && !running_ && !tasks_.empty()) run_front(lock);
    awaited = awaited_;
    over = !has_thread_ && !running_;  // otherwise who runs the last of it leaves the list
    work_.notify_one();
  }
  if (awaited != nullptr) awaited->wake();
  if (over) leave_list();
}

Status Queue::start_thread() {
  // Signals are for the program's threads, but those that a function of the program brings upon itself: of a fault that
  // is blocked nobody hears.
  sigset_t others, before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < 2 * kRoom)  // the program's limit is smaller
    pthread_attr_setstacksize(&attributes, 2 * kRoom);
  auto self = std::unique_ptr<std::shared_ptr<Queue>>(new (std::nothrow) std::shared_ptr<Queue>(self_.lock()));
  const auto run = [](void* queue) -> void* {
    const std::shared_ptr<Queue> mine =
        std::move(*std::unique_ptr<std::shared_ptr<Queue>>(static_cast<std::shared_ptr<Queue>*>(queue)));
    mine->run_thread();
    return nullptr;
  };
  pthread_t thread;
  const int error = self == nullptr ? ENOMEM : pthread_create(&thread, &attributes, run, self.get());
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);  // before what may throw
  if (self == nullptr) return {Code::kOutOfMemory, "there is no memory for the thread of a stream"};
  if (error != 0)
    return {Code::kInternal,
            cat("the thread of a stream could not be started: ", std::generic_category().message(error))};
  self.release();
  has_thread_ = true;
  return {};
}

void Queue::run_thread() {
  pthread_setname_np(pthread_self(), "descend-stream");
  Lock lock(mutex_);
  try {
    for (;;) {
      const auto has_turn = [&] { return !running_ && (!tasks_.empty() || closed_.load(std::memory_order_relaxed)); };
      if (!work_.wait_for(lock, kPatience, has_turn)) {
        if (running_) continue;  // a caller works here
        has_thread_ = false;     // the next task starts another
        return;
      }
      if (tasks_.empty()) {
        has_thread_ = false;
        break;
      }
      if (!run_front(lock)) return;
    }
  } catch (...) {
    if (!lock.owns_lock()) throw;  // it has forked, and this is the child: what is left is the parent's
    // A function of the program ended this thread.  Another goes on, now or with the next task.
    has_thread_ = false;
    if (!tasks_.empty() || closed_.load(std::memory_order_relaxed)) leave_to_thread();
    throw;
  }
  lock.unlock();
  leave_list();
}

void Queue::keep_until_done(const std::shared_ptr<void>& memory) {
  const Lock lock(mutex_);
  if (!adopt()) return;
  tasks_.push_back({.keeps_alive = memory, .always = true});
  ++pushed_;
}

}  // namespace descend
