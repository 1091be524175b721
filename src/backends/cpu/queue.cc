// SPDX-License-Identifier: MIT
// What is asked of a queue: tasks, events, waiting, and its end.
#include "src/backends/cpu/queue.h"

#include <algorithm>
#include <new>

#include "src/base/environment.h"
#include "src/base/text.h"

namespace descend {

std::shared_ptr<Queue> Queue::make() {
  auto queue = std::make_shared<Queue>();
  queue->self_ = queue;
  queue->enter_list();
  return queue;
}

Status Queue::push(Task task) {
  Lock lock(mutex_);
  return push(lock, std::move(task), [] {});
}

Status Queue::push(Lock& lock, Task&& task, FunctionRef<void()> queued) {
  // A task waits for no other stream: what runs there may wait for this one.
  const bool in_a_task = is_in_a_task() && !runs_here();
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
    run_dropping(lock);  // where none could be started
    awaited = awaited_;
    over = !has_thread_ && !running_;  // otherwise who runs the last of it leaves the list
    work_.notify_one();
  }
  if (awaited != nullptr) awaited->wake();
  if (over) leave_list();
}

void Queue::keep_until_done(const std::shared_ptr<void>& memory) {
  const Lock lock(mutex_);
  if (!adopt()) return;
  tasks_.push_back({.keeps_alive = memory, .always = true});
  ++pushed_;
}

}  // namespace descend
