// SPDX-License-Identifier: MIT
#include "src/check/order.h"

#include <algorithm>

namespace descend {
namespace {

void merge(VectorClock& into, const VectorClock& from) {
  for (const auto& [stream, number] : from) {
    uint64_t& known = into[stream];
    known = std::max(known, number);
  }
}

}  // namespace

Order::Moment Order::submit(uint32_t stream) {
  VectorClock& clock = streams_[stream];
  merge(clock, host_);
  const uint64_t number = ++clock[stream];
  return {stream, number, clock};
}

void Order::record(const void* event, uint32_t stream) {
  VectorClock& clock = streams_[stream];
  merge(clock, host_);
  events_[event] = clock;
}

// Who waits for it later waits for what it had captured, or finds it reset, and then the stream has come so far: what
// both know is over.
void Order::reset(const void* event, uint32_t stream) {
  const auto it = events_.find(event);
  if (it == events_.end()) return;
  VectorClock& clock = streams_[stream];
  merge(clock, host_);
  for (auto& [other, number] : it->second) number = std::min(number, clock[other]);
}

void Order::wait(uint32_t stream, const void* event) {
  if (const auto it = events_.find(event); it != events_.end()) merge(streams_[stream], it->second);
}

void Order::join(uint32_t stream) {
  if (const auto it = streams_.find(stream); it != streams_.end()) merge(host_, it->second);
}

void Order::join(const VectorClock& clock) { merge(host_, clock); }

void Order::join_event(const void* event) {
  if (const auto it = events_.find(event); it != events_.end()) merge(host_, it->second);
}

void Order::end(uint32_t stream) {
  join(stream);
  streams_.erase(stream);
  // Nobody asks how far it had come: before() knows.
  host_.erase(stream);
  for (auto& [other, clock] : streams_) clock.erase(stream);
  for (auto& [event, clock] : events_) clock.erase(stream);
}

bool Order::before(uint32_t stream, uint64_t number, const VectorClock& clock) const {
  if (!streams_.contains(stream)) return true;  // it has ended
  const auto it = clock.find(stream);
  return it != clock.end() && it->second >= number;
}

}  // namespace descend
