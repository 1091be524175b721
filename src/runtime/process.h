// SPDX-License-Identifier: MIT
// What the runtime knows about this process, and about the calling thread.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "src/runtime/context.h"
#include "src/runtime/events.h"
#include "src/runtime/handles.h"
#include "src/runtime/reports.h"

namespace descend {

class HostCall;

// A device as aclrtSetDevice and aclrtResetDevice count it.
struct DeviceUse {
  uint64_t count = 0;
  std::shared_ptr<Context> context;  // the default context
  int32_t saturation = 1;            // aclrtFloatOverflowMode: infinities and NaN stay what they are
};

struct Process {
  Handles<Context> contexts;
  Handles<StreamObject> streams;
  Handles<EventObject> events;

  // For what follows and for the changing parts of contexts.  Held only to look and to change: never while waiting for
  // work, and never while a backend is called, because backends may fork.
  std::mutex mutex;
  std::map<int32_t, DeviceUse> devices;
  std::set<std::pair<int32_t, int32_t>> peers;  // (device, peer) with access enabled
  uint64_t references = 0;                      // of aclInit

  std::atomic<int32_t> default_device{-1};  // for threads without a context; -1: there is none
  std::atomic<uint32_t> op_wait_seconds{0};
  std::array<std::atomic<int64_t>, 3> options{};

  // These have locks that are held for long or waited for, so a forked child gets new ones.
  std::mutex* initializing = new std::mutex;  // one aclInit at a time
  Reports* reports = new Reports;
};

// Never destroyed.  A forked child knows its parent's contexts, streams, events and memory; what was queued in them is
// the parent's, and so are the threads that run callbacks.
Process& process();

// Changes whenever a stream or a context dies, so that a thread may remember the stream it found last.
// Relaxed is enough to ask whether it still is what it was: what is remembered is the thread's own.
inline constinit std::atomic<uint64_t> the_stream_epoch{1};
inline uint64_t stream_epoch() { return the_stream_epoch.load(std::memory_order_acquire); }
inline void next_stream_epoch() { the_stream_epoch.fetch_add(1, std::memory_order_acq_rel); }

struct ThreadState {
  std::shared_ptr<Context> context;
  // The stream this thread found last, valid while the epoch and the thread's context are what they were.
  void* found_handle = nullptr;
  const Context* found_context = nullptr;
  uint64_t found_epoch = 0;
  std::weak_ptr<StreamObject> found;
  // The stream that waits for what is running on this thread; 0 when there is none.
  uint32_t inside_stream = 0;
  const HostCall* inside_call = nullptr;  // that it waits for; null where a failure is told
};
namespace detail {
// A plain pointer, because functions may still be called while a thread's or the program's objects are being destroyed.
// What it points to ends with a key of the thread: after the thread's own objects, and never on the main thread, whose
// context static destructors still find.
extern constinit thread_local ThreadState* the_thread;
ThreadState& make_thread_state();
}  // namespace detail
inline ThreadState& thread_state() {
  ThreadState* const mine = detail::the_thread;
  return mine != nullptr ? *mine : detail::make_thread_state();
}

// Marks this thread as running a function in the order of a stream: waiting for that stream would never end.
class InsideStream {
 public:
  explicit InsideStream(uint32_t stream_id, const HostCall* call = nullptr)
      : stream_before_(std::exchange(thread_state().inside_stream, stream_id)),
        call_before_(std::exchange(thread_state().inside_call, call)) {}
  ~InsideStream() {
    thread_state().inside_stream = stream_before_;
    thread_state().inside_call = call_before_;
  }
  InsideStream(const InsideStream&) = delete;
  InsideStream& operator=(const InsideStream&) = delete;

 private:
  uint32_t stream_before_;
  const HostCall* call_before_;
};

// Fails when this thread runs a host function of that stream, or with 0 of any stream.
Status may_wait_for(uint32_t stream_id);

}  // namespace descend
