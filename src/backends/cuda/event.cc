// SPDX-License-Identifier: MIT
// Events of the cuda device: points, captured and waited for.
#include "src/backends/cuda/event.h"

#include <algorithm>
#include <map>
#include <thread>

#include "src/backends/cuda/device.h"
#include "src/backends/cuda/fork.h"
#include "src/backends/cuda/launch.h"
#include "src/base/stream_work.h"
#include "src/base/text.h"

namespace descend {
namespace {

// Making an event takes longer than recording one, so they are kept.
struct FreeEvents {
  std::mutex mutex;
  std::map<int, std::vector<cudaEvent_t>> by_device;
};
FreeEvents& free_events() {
  static FreeEvents& events = *new FreeEvents;
  return events;
}

using Clock = std::chrono::steady_clock;
// A moment so far away that it is the same as never, without overflowing a clock.
Clock::time_point end_of(Timeout timeout) {
  constexpr std::chrono::hours kYear(24 * 365);
  return Clock::now() + (timeout && *timeout < kYear ? Clock::duration(*timeout) : kYear);
}

}  // namespace

Marker::Marker(int device) : device_(device) {
  {
    const std::lock_guard lock(free_events().mutex);
    std::vector<cudaEvent_t>& free = free_events().by_device[device];
    if (!free.empty()) {
      event_ = free.back();
      free.pop_back();
      return;
    }
  }
  if (cudaEventCreate(&event_) == cudaSuccess) return;
  cudaGetLastError();  // not the failure of what is launched next
  event_ = nullptr;
}

Marker::~Marker() {
  if (event_ == nullptr || cuda_is_the_parents()) return;
  const std::lock_guard lock(free_events().mutex);
  free_events().by_device[device_].push_back(event_);
}

EventPoint::EventPoint(const std::shared_ptr<CudaQueue>& queue) : queue_(queue), marker_(queue->device().index()) {}

Status EventPoint::record(cudaStream_t stream) {
  Status status = guarded([&] { return cuda_status(cudaEventRecord(marker_.event(), stream), "to record an event"); });
  {
    const std::lock_guard lock(mutex_);
    failure_ = status;
    recorded_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
  return status;
}

Status EventPoint::go_on() const {
  const std::shared_ptr<CudaQueue> queue = queue_.lock();
  return queue == nullptr ? Status{} : queue->go_on();
}

Status EventPoint::wait_until_recorded(Timeout timeout, const std::atomic<bool>* given_up) {
  if (recorded()) return failure_;
  const Clock::time_point end = end_of(timeout);
  // Nobody tells of giving up, which is rare, or of a thread that has ended: both are looked for.
  while (!recorded() && Clock::now() < end && !(given_up && given_up->load())) {
    if (Status s = go_on(); !s.ok()) return s;  // without the lock: a queue's comes before it
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, std::min(end, Clock::now() + std::chrono::milliseconds(10)), [&] { return recorded(); });
  }
  return failure();
}

Status EventPoint::wait_until_reached(Timeout timeout, const std::atomic<bool>* given_up) {
  const Clock::time_point end = end_of(timeout);
  if (Status s = wait_until_recorded(timeout, given_up); !s.ok()) return s;
  const bool there = recorded();
  if (there && !timeout && !given_up) return cuda_status(cudaEventSynchronize(marker_.event()), "before an event");
  for (auto pause = std::chrono::microseconds(1); there; pause = std::min(2 * pause, std::chrono::microseconds(500))) {
    const cudaError_t error = cudaEventQuery(marker_.event());
    if (error != cudaErrorNotReady) return cuda_status(error, "before an event");
    if (Clock::now() >= end || (given_up && given_up->load())) break;
    std::this_thread::sleep_for(pause);
  }
  return {Code::kEventTimeout, cat("the event was not reached within ", timeout ? timeout->count() : 0, " ms")};
}

Status EventPoint::make_wait(cudaStream_t stream) const {
  if (Status s = failure(); !s.ok()) return s;
  return cuda_status(cudaStreamWaitEvent(stream, marker_.event(), 0), "to wait for an event");
}

double EventPoint::milliseconds_since(const EventPoint& earlier) const {
  float elapsed = 0;
  if (cudaEventElapsedTime(&elapsed, earlier.marker_.event(), marker_.event()) == cudaSuccess) return elapsed;
  cudaGetLastError();
  return 0;
}

std::shared_ptr<EventPoint> EventState::point() const {
  const std::lock_guard lock(mutex_);
  return point_;
}

void EventState::capture(std::shared_ptr<EventPoint> point) {
  const std::lock_guard lock(mutex_);
  point_.swap(point);
}

void EventState::reset_if_still(const EventPoint* point) {
  const std::lock_guard lock(mutex_);
  if (point_.get() == point) point_ = nullptr;
}

void EventState::add_wait(std::unique_ptr<Marker> behind_it) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waits_, [](const auto& wait) { return wait->reached(); });
  waits_.push_back(std::move(behind_it));
}

bool EventState::waits_done() {
  if (cuda_is_the_parents()) return true;
  if (waiting.load(std::memory_order_acquire) > 0) return false;
  const std::lock_guard lock(mutex_);
  return std::all_of(waits_.begin(), waits_.end(), [](const auto& wait) { return wait->reached(); });
}

bool CudaEvent::recorded() const { return !cuda_is_the_parents() && state_->point() != nullptr; }

bool CudaEvent::reached() const {
  if (cuda_is_the_parents()) return true;
  const auto point = state_->point();
  if (point == nullptr || point->reached()) return true;
  CudaDevice::go_on_where_left();
  return false;
}

Status CudaEvent::failure() const {
  if (cuda_is_the_parents()) return {};
  const auto point = state_->point();
  return point == nullptr ? Status{} : point->failure();
}

bool CudaEvent::waits_done() const {
  if (state_->waits_done()) return true;
  CudaDevice::go_on_where_left();
  return false;
}

Status CudaEvent::synchronize(Timeout timeout) {
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  const auto point = state_->point();
  return point == nullptr ? Status{} : point->wait_until_reached(timeout, nullptr);
}

double CudaEvent::milliseconds_since(const Event& earlier) const {
  const auto* other = dynamic_cast<const CudaEvent*>(&earlier);
  if (other == nullptr || cuda_is_the_parents()) return 0;
  const auto end = state_->point(), start = other->state_->point();
  if (end == nullptr || start == nullptr || !end->reached() || !start->reached()) return 0;
  return end->milliseconds_since(*start);
}

}  // namespace descend
