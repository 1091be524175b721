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

bool EventPoint::wait(Timeout timeout, const std::atomic<bool>& given_up) {
  if (reached()) return true;
  std::unique_lock lock(mutex_);
  const auto over = [&] { return reached() || given_up.load(std::memory_order_relaxed); };
  if (for_ever(timeout)) {
    changed_.wait(lock, over);
  } else {
    changed_.wait_until(lock, std::chrono::steady_clock::now() + *timeout, over);
  }
  return reached();
}

Status EventPoint::go_on() const {
  if (reached()) return {};
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
  return point == nullptr || point->reached();
}

Status CpuEvent::synchronize(Timeout timeout) {
  static const std::atomic<bool> never{false};
  const auto point = state_->point();
  if (point == nullptr) return {};
  if (Status s = point->go_on(); !s.ok()) return s;
  if (point->wait(timeout, never)) return {};
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
