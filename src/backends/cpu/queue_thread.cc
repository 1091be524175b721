// SPDX-License-Identifier: MIT
// The thread of a queue: when there is one, and what becomes of tasks when it ends.
#include "src/backends/cpu/queue.h"

#include "src/base/log.h"
#include "src/base/stack.h"
#include "src/base/stream_thread.h"

namespace descend {
namespace {

// What is left of a stack on which work may run: a kernel of transposed matrices has 600 KiB of tiles there.
constexpr size_t kRoom = size_t{1} << 20;
static_assert(2 * kRoom <= kLeastStack);

// After so long without work a stream's thread ends: a process whose main thread has ended by pthread_exit ends with
// its last one, and threads of streams hear no signal that would end it.  (oneTBB's workers stay: where a loop has
// started them, such a process does not end by itself.  They cannot be given SIGTERM, which a program may block in all
// its threads to wait for it.)
constexpr std::chrono::seconds kPatience(2);

}  // namespace

bool Queue::has_room_here() { return stack_left() >= kRoom; }

void Queue::hand_over(Lock& lock) {
  if (running_) return;  // who runs it goes on
  if (has_thread_) {
    if (!tasks_.empty()) work_.notify_one();
    return;
  }
  if (!tasks_.empty()) {
    if (Status s = start_thread(); !s.ok()) {
      log(LogLevel::kError, s.message());
      if (closed_.load(std::memory_order_relaxed)) {
        run_dropping(lock);
      } else {
        some_left_.store(true, std::memory_order_relaxed);
      }
      done_.notify_all();  // who waits tries again, and knows whom to tell
    }
  }
  leave_list_when_over(lock);
}

void Queue::run_dropping(Lock& lock) {
  while (!has_thread_ && !running_ && !tasks_.empty() && run_front(lock)) continue;
}

void Queue::leave_list_when_over(Lock& lock) {
  if (has_thread_ || running_ || !closed_.load(std::memory_order_relaxed)) return;
  lock.unlock();
  leave_list();
  lock.lock();
}

Status Queue::find_runner() { return tasks_.empty() || running_ || has_thread_ ? Status{} : start_thread(); }

Status Queue::go_on() {
  const Lock lock(mutex_);
  return find_runner();
}

Status Queue::start_thread() {
  Status status = start_stream_thread(
      self_.lock(), [](std::shared_ptr<void> queue) { static_cast<Queue*>(queue.get())->run_thread(); });
  if (status.ok()) has_thread_ = true;
  return status;
}

void Queue::run_thread() {
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
    hand_over(lock);
    throw;
  }
  lock.unlock();
  leave_list();
}

}  // namespace descend
