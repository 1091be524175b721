// SPDX-License-Identifier: MIT
// Streams of the cuda device: what each call hands to CUDA.
#include "src/backends/cuda/stream.h"

#include "src/backends/cuda/device.h"
#include "src/backends/cuda/fork.h"

namespace descend {
namespace {

CudaEvent* own(Event& event) { return dynamic_cast<CudaEvent*>(&event); }
Status foreign_event() { return {Code::kInvalidHandle, "the event must belong to the stream's device"}; }

}  // namespace

// Not through the stream, which may be destroyed while its last work runs.
CudaLaunch cuda_launch(Launch& launch) { return CudaQueue::current().launch(launch.function); }

Status CudaStream::now_or_later(std::function<Status()> work) {
  return queue_->try_now([&] { return work(); }) ? Status{} : queue_->push(std::move(work));
}

Status CudaStream::call_host(std::function<void()> function, bool awaits_others) {
  const auto call = [queue = queue_.get(), function = std::move(function)] {
    Status status = queue->wait_for_card();
    function();
    return status;
  };
  return queue_->push(call, false, awaits_others ? CudaQueue::Awaits::kOthers : CudaQueue::Awaits::kNothing);
}

Status CudaStream::copy(void* to, const void* from, size_t bytes) {
  return now_or_later([=, stream = queue_->stream()] {
    return cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "to copy");
  });
}

Status CudaStream::fill(void* at, uint8_t byte, size_t bytes) {
  return now_or_later(
      [=, stream = queue_->stream()] { return cuda_status(cudaMemsetAsync(at, byte, bytes, stream), "to fill"); });
}

Status CudaStream::record(Event& event) {
  CudaEvent* const mine = own(event);
  if (mine == nullptr) return foreign_event();
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  queue_->device().use();
  const auto point = std::make_shared<EventPoint>(queue_);
  if (!point->made()) return {Code::kNoEventResource, "the device has no event left"};
  const auto record = [point, stream = queue_->stream()] { return point->record(stream); };
  // Captured with the queue's lock.  Before, a wait of this stream for the point could get in front of it, for ever;
  // later, an event that two threads record would keep the point of which less is in front.
  const auto capture = [&] { mine->state()->capture(point); };
  if (queue_->try_now([&] { return capture(), record(); }, true)) return {};
  return queue_->push(record, true, CudaQueue::Awaits::kNothing, capture);
}

Status CudaStream::wait(Event& event, Timeout timeout) {
  CudaEvent* const mine = own(event);
  if (mine == nullptr) return foreign_event();
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  const std::shared_ptr<EventState> state = mine->state();
  const auto point = state->point();
  if (point == nullptr || point->reached()) return {};
  const auto wait = [state, point, queue = queue_.get()]() -> Status {
    if (Status s = point->make_wait(queue->stream()); !s.ok()) return s;
    auto behind = std::make_unique<Marker>(queue->device().index());
    if (!behind->made()) return {Code::kNoEventResource, "the device has no event left for the end of a wait"};
    if (Status s = cuda_status(cudaEventRecord(behind->event(), queue->stream()), "to record the end of a wait");
        !s.ok())
      return s;
    state->add_wait(std::move(behind));
    return {};
  };
  if (!timeout && point->recorded() && queue_->try_now(wait)) return {};
  // CUDA's queue can neither wait for an event that is not there yet nor give up.
  ++state->waiting;
  const std::shared_ptr<void> ends(nullptr, [state](void*) { --state->waiting; });
  const auto in_turn = [=, ends = ends, queue = queue_.get()]() -> Status {
    if (timeout)
      if (Status s = queue->wait_for_card(); !s.ok()) return s;
    if (timeout) return point->wait_until_reached(timeout, &queue->closed());
    if (Status s = point->wait_until_recorded({}, &queue->closed()); !s.ok()) return s;
    return point->recorded() ? wait() : Status{};
  };
  return queue_->push(in_turn, false, CudaQueue::Awaits::kOthers);
}

bool CudaStream::idle() const {
  if (queue_->idle()) return true;
  CudaDevice::go_on_where_left();
  return false;
}

Status CudaStream::reset(Event& event) {
  CudaEvent* const mine = own(event);
  if (mine == nullptr) return foreign_event();
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  const auto point = mine->state()->point();
  if (point == nullptr) return {};
  if (queue_->idle()) {
    mine->state()->reset_if_still(point.get());
    return {};
  }
  return queue_->push(
      [state = mine->state(), point, queue = queue_.get()] {
        Status status = queue->wait_for_card();
        state->reset_if_still(point.get());
        return status;
      },
      true);
}

}  // namespace descend
