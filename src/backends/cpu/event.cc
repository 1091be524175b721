// SPDX-License-Identifier: MIT
// Events of the cpu device: points, captured and waited for.
#include "src/backends/cpu/event.h"

#include "src/backends/cpu/queue.h"
#include "src/base/text.h"

namespace descend {

void EventPoint::complete() {
  {
    const std::lock_guard lock(mutex_);
    time_ = std::chrono::steady_clock::now();
    done_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

Status EventPoint::wait(Timeout timeout, const std::atomic<bool>& given_up, bool& in_time) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience(1);  // then looks again whether there is a thread for what is before it
  const bool limited = !for_ever(timeout);
  const auto until = Clock::now() + (limited ? Clock::duration(*timeout) : Clock::duration::zero());
  const auto over = [&] { return reached() || given_up.load(std::memory_order_relaxed); };
  for (;;) {
    in_time = reached();
    if (in_time) return {};
    if (Status s = go_on(); !s.ok()) return s;  // without the lock: a queue's comes before it
    std::unique_lock lock(mutex_);
    const auto soon = Clock::now() + kPatience;
    const bool last = limited && until <= soon;
    if (changed_.wait_until(lock, last ? until : soon, over) || last) {
      in_time = reached();
      return {};
    }
  }
}

Status EventPoint::go_on() const {
  const std::shared_ptr<Queue> queue = queue_.lock();
  return queue == nullptr ? Status{} : queue->go_on();
}

void EventPoint::wake() {
  // A wait that has just looked at its condition is asleep once the lock is free.
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

std::shared_ptr<EventPoint> EventState::point() const {
  const std::lock_guard lock(captures_lock());
  return point_;
}

void EventState::capture(std::shared_ptr<EventPoint> point) {
  const std::lock_guard lock(captures_lock());
  point_.swap(point);  // the old one ends with the parameter, after the lock
}

void EventState::reset_if_still(const EventPoint* point) {
  std::shared_ptr<EventPoint> old;
  const std::lock_guard lock(captures_lock());
  if (point_.get() == point) old = std::move(point_);
}

bool CpuEvent::reached() const {
  const auto point = state_->point();
  if (point == nullptr || point->reached()) return true;
  Queue::go_on_where_left();
  return false;
}

bool CpuEvent::waits_done() const {
  if (state_->waiting.load(std::memory_order_acquire) == 0) return true;
  Queue::go_on_where_left();
  return false;
}

Status CpuEvent::synchronize(Timeout timeout) {
  static const std::atomic<bool> never{false};
  const auto point = state_->point();
  if (point == nullptr) return {};
  bool in_time = false;
  if (Status s = point->wait(timeout, never, in_time); !s.ok() || in_time) return s;
  return {Code::kEventTimeout, cat("the event was not reached within ", timeout->count(), " ms")};
}

double CpuEvent::milliseconds_since(const Event& earlier) const {
  const auto* other = dynamic_cast<const CpuEvent*>(&earlier);
  if (other == nullptr) return 0;
  const auto end = state_->point(), start = other->state_->point();
  if (end == nullptr || start == nullptr || !end->reached() || !start->reached()) return 0;
  return std::chrono::duration<double, std::milli>(end->time() - start->time()).count();
}

}  // namespace descend
