// SPDX-License-Identifier: MIT
// Streams of the cpu device: what is run at once, and what is queued.
#include "src/backends/cpu/stream.h"

#include "src/backends/cpu/memory.h"
#include "src/base/environment.h"
#include "src/base/thread_end.h"

namespace descend {
namespace {

// Work that touches no more than this runs on the caller's thread when the stream is idle.  Measured on a Neoverse N1
// (2 cores, Linux 6): handing work to a sleeping thread costs the caller 3.5 us and a wait for it 10.7 us; running it
// here costs 45 ns and the work itself, which for 64 KiB is 1 us (a copy) to 8 us (an exponential of every float).
constexpr uint64_t kInlineBytes = 64 << 10;

CpuEvent* own(Event& event) { return dynamic_cast<CpuEvent*>(&event); }
Status foreign_event() { return {Code::kInvalidHandle, "the event must belong to the stream's device"}; }

}  // namespace

CpuStream::~CpuStream() {
  // After a fork the parent's queue stays as it is: its lock may be held by a thread that is not here.
  if (generation_.load(std::memory_order_acquire) == fork_generation()) queue_->close();
}

void CpuStream::renew() const {
  std::shared_ptr<Queue> fresh = Queue::make();
  fresh->stop_on_failure(stop_.load(std::memory_order_relaxed));
  fresh->on_failure(listener_);
  {
    const std::lock_guard lock(device_lock());
    if (generation_.load(std::memory_order_relaxed) != fork_generation()) {
      queue_.swap(fresh);  // the list of queues keeps the old one
      generation_.store(fork_generation(), std::memory_order_release);
      return;
    }
  }
  fresh->close();  // another thread was first
}

bool CpuStream::try_run(FunctionRef<Status()> work, uint64_t bytes) {
  if (!Queue::has_room_here()) return false;
  if (bytes <= kInlineBytes) return queue().try_run(work);
  if (!environment().synchronous) return false;
  const NotCancelled here;  // a loop's first threads are waited for
  return queue().try_run(work);
}

Status CpuStream::submit(std::function<Status()> work) { return queue().push({.work = std::move(work)}); }

// On the queue's thread, unless calls are synchronous: a function of the program may block until its own thread goes
// on.
Status CpuStream::call_host(std::function<void()> function, bool awaits_others) {
  return queue().push(
      {.work = [function = std::move(function)] { return function(), Status{}; }, .awaits_others = awaits_others});
}

Status CpuStream::copy(void* to, const void* from, size_t bytes) {
  const auto work = [=] { return copy_bytes(to, from, bytes), Status{}; };
  return try_run(work, bytes) ? Status{} : submit(work);
}

Status CpuStream::fill(void* at, uint8_t byte, size_t bytes) {
  const auto work = [=] { return fill_bytes(at, byte, bytes), Status{}; };
  return try_run(work, bytes) ? Status{} : submit(work);
}

Status CpuStream::record(Event& event) {
  CpuEvent* const mine = own(event);
  if (mine == nullptr) return foreign_event();
  return queue().record(*mine->state());
}

Status CpuStream::wait(Event& event, Timeout timeout) {
  CpuEvent* const mine = own(event);
  if (mine == nullptr) return foreign_event();
  auto point = mine->state()->point();
  if (point == nullptr || point->reached()) return {};
  return queue().wait(mine->state(), std::move(point), timeout);
}

Status CpuStream::reset(Event& event) {
  CpuEvent* const mine = own(event);
  if (mine == nullptr) return foreign_event();
  auto point = mine->state()->point();
  if (point == nullptr) return {};
  Queue& queue = this->queue();
  if (queue.idle()) {
    mine->state()->reset_if_still(point.get());
    return {};
  }
  return queue.push({.work = [state = mine->state(), point] { return state->reset_if_still(point.get()), Status{}; },
                     .always = true});
}

bool CpuStream::idle() const {
  if (queue().idle()) return true;
  Queue::go_on_where_left();
  return false;
}

void CpuStream::stop_on_failure(bool stop) {
  stop_.store(stop, std::memory_order_relaxed);
  queue().stop_on_failure(stop);
}

void CpuStream::on_failure(std::function<void(const Status&)> listener) {
  listener_ = std::move(listener);
  queue().on_failure(listener_);
}

}  // namespace descend
