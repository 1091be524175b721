// SPDX-License-Identifier: MIT
// Events of the cuda device.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "src/device/device.h"

namespace descend {

class CudaQueue;

// A cudaEvent_t, taken from a list of those that are free and given back to it.
class Marker {
 public:
  explicit Marker(int device);
  ~Marker();
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  bool made() const { return event_ != nullptr; }
  cudaEvent_t event() const { return event_; }
  bool reached() const { return cudaEventQuery(event_) != cudaErrorNotReady; }

 private:
  const int device_;
  cudaEvent_t event_ = nullptr;
};

// One recorded moment of one stream.  A stream that waits for the host hands its work to CUDA later: until then the
// point is not in CUDA's queue either.
class EventPoint {
 public:
  explicit EventPoint(const std::shared_ptr<CudaQueue>& queue);

  bool made() const { return marker_.made(); }
  Status record(cudaStream_t stream);  // once
  // Whether that was done.  When it failed the point is not reached: who waits is told.
  bool recorded() const { return recorded_.load(std::memory_order_acquire); }
  Status failure() const { return recorded() ? failure_ : Status{}; }
  bool reached() const { return recorded() && failure_.ok() && marker_.reached(); }
  // Blocks until it is recorded, the time has come or `given_up` is set.  Fails when it would not be: also when no
  // thread can be started for what is before it.
  Status wait_until_recorded(Timeout timeout, const std::atomic<bool>* given_up);
  Status wait_until_reached(Timeout timeout, const std::atomic<bool>* given_up);
  Status make_wait(cudaStream_t stream) const;  // for a recorded one
  double milliseconds_since(const EventPoint& earlier) const;

 private:
  Status go_on() const;

  const std::weak_ptr<CudaQueue> queue_;
  Marker marker_;
  std::atomic<bool> recorded_{false};
  Status failure_;  // set before recorded_
  std::mutex mutex_;
  std::condition_variable changed_;
};

// What streams need of an event after it may have been destroyed.
class EventState {
 public:
  std::shared_ptr<EventPoint> point() const;  // null when nothing is captured
  void capture(std::shared_ptr<EventPoint> point);
  void reset_if_still(const EventPoint* point);  // unless it was recorded again meanwhile
  // A wait in CUDA's queue, over when the marker is reached; and one that is not there yet.
  void add_wait(std::unique_ptr<Marker> behind_it);
  std::atomic<int> waiting{0};
  bool waits_done();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<EventPoint> point_;
  std::vector<std::unique_ptr<Marker>> waits_;
};

class CudaEvent final : public Event {
 public:
  bool recorded() const override;
  bool reached() const override;
  Status failure() const override;
  bool waits_done() const override;
  Status synchronize(Timeout timeout) override;
  double milliseconds_since(const Event& earlier) const override;

  const std::shared_ptr<EventState>& state() const { return state_; }

 private:
  std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
};

}  // namespace descend
