// SPDX-License-Identifier: MIT
// Events of the cpu device.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "src/backends/cpu/fork.h"
#include "src/device/device.h"

namespace descend {

class Queue;

// One recorded moment of one stream.  Shared by the event, the queue that will reach it, and everything that waits.
class EventPoint {
 public:
  explicit EventPoint(std::weak_ptr<Queue> queue) : queue_(std::move(queue)) {}
  // Called once, by the queue it was recorded in, in stream order (also when the work before it was dropped).
  void complete();
  // A point of a parent process that was not reached before the fork counts as reached: its work is not in this one.
  bool reached() const { return done_.load(std::memory_order_acquire) || generation_ != fork_generation(); }
  // Says whether the point was reached before time or patience (`given_up`) ran out.  Fails when it would not be: when
  // no thread can be started for what is before it.
  Status wait(Timeout timeout, const std::atomic<bool>& given_up, bool& in_time);
  // Makes waits look at `given_up` again.
  void wake();
  // Only for a reached point.
  std::chrono::steady_clock::time_point time() const { return time_; }

 private:
  Status go_on() const;

  const uint32_t generation_ = fork_generation();
  const std::weak_ptr<Queue> queue_;
  std::chrono::steady_clock::time_point time_{};
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

// What queues need of an event after it may have been destroyed.
class EventState {
 public:
  std::shared_ptr<EventPoint> point() const;  // null when nothing is captured
  void capture(std::shared_ptr<EventPoint> point);
  void reset_if_still(const EventPoint* point);  // unless it was recorded again meanwhile

  std::atomic<int> waiting{0};  // waits submitted and not yet over

 private:
  std::shared_ptr<EventPoint> point_;  // guarded by captures_lock()
};

class CpuEvent final : public Event {
 public:
  bool recorded() const override { return state_->point() != nullptr; }
  bool reached() const override;
  bool waits_done() const override;
  Status synchronize(Timeout timeout) override;
  double milliseconds_since(const Event& earlier) const override;

  const std::shared_ptr<EventState>& state() const { return state_; }

 private:
  std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
};

// A moment so far away that it is the same as never, without overflowing a clock.
inline bool for_ever(const Timeout& timeout) { return !timeout || *timeout > std::chrono::hours(24 * 365); }

}  // namespace descend
