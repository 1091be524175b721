// SPDX-License-Identifier: MIT
// What happens before what: a vector clock for each stream, each event and the host.
//
// The host is one: calls of several threads count as ordered in the way they were made, since what orders threads
// (locks, joins) is not seen here.  Work on a stream comes after everything its submitter knew.
#pragma once
#include <cstdint>
#include <map>

namespace descend {

// How far each stream is known to have come.
using VectorClock = std::map<uint32_t, uint64_t>;

class Order {
 public:
  // The next piece of work on a stream: its number there, and what it comes after.
  struct Moment {
    uint32_t stream;
    uint64_t number;
    const VectorClock& after;
  };
  Moment submit(uint32_t stream);
  void record(const void* event, uint32_t stream);
  void wait(uint32_t stream, const void* event);
  void reset(const void* event, uint32_t stream);  // to nothing captured, when the stream comes to it
  void join(uint32_t stream);                      // the host waited for it
  void join(const VectorClock& clock);             // the host knows of all that
  void join_event(const void* event);              // the host waited for what it captured
  void end(uint32_t stream);                       // all of it is over
  void forget_event(const void* event) { events_.erase(event); }

  const VectorClock& host() const { return host_; }
  // Whether a piece of work is known to be over to whoever has that clock.
  bool before(uint32_t stream, uint64_t number, const VectorClock& clock) const;

 private:
  VectorClock host_;
  std::map<uint32_t, VectorClock> streams_;
  std::map<const void*, VectorClock> events_;
};

}  // namespace descend
