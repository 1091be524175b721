// SPDX-License-Identifier: MIT
// Who watches what a program does: the trace and the checker.  The runtime and the plans tell them at the few points
// where a call becomes work, an object begins or ends, and the host waits.  Without an observer each such point costs
// one load and one branch.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace descend {

class Backend;
class Device;
class Stream;
struct Allocation;
struct Advice;
struct Launch;

enum class ObjectKind : uint8_t {
  kTensor,
  kScalar,
  kIntArray,
  kFloatArray,
  kBoolArray,
  kTensorList,
  kScalarList,
  kExecutor,
  kStream,
  kEvent,
  kContext,
};

// Moments of a function of the program's that a stream calls.  It may be over without having begun: a stream drops what
// it has not come to when it ends, or stops after a failure, or loses the thread that runs its callbacks.
enum class HostFunction : uint8_t { kQueued, kBegins, kOver };

struct StreamInfo {
  uint32_t id = 0;  // never used twice
  int32_t device_id = 0;
  Device* device = nullptr;
  Stream* stream = nullptr;
  const Backend* backend = nullptr;
};

// A tensor that an operator touches, where it is in this run.
struct Use {
  const char* name;
  aclTensor view;
  bool read, written;
  bool in_place;             // an output may be the very same view
  int64_t most = INT64_MAX;  // elements that are touched, where the values of another view pick them
};

// What a stream is asked to do, or with no stream the host itself: an operator, a copy, a fill (no `from`), or a wait
// (nothing at all).
struct Work {
  const char* function = "";
  const void* executor = nullptr;
  std::span<const Use> uses;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t bytes = 0;
  int32_t kind = -1;     // of a copy: aclrtMemcpyKind
  bool refused = false;  // it is not done: its ranges are not within memory that the runtime knows
};

// Looks at one run, right before and after its kernels are launched, on the thread that does so.  Where the memory is
// the host's that is when they run.  Elsewhere a watch launches kernels of its own, and looks at what they have found
// when all of it is over: in stream order, on any thread.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void before(Launch&) {}
  virtual void after(Launch&) {}
  virtual void over() {}
};

// Every function is called on the thread of the program that made the call, with no lock of the runtime held, and may
// be called by several threads at once.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual void enters(const char* /*function*/) {}
  virtual void leaves(const char* /*function*/) {}

  virtual void created(ObjectKind, const void* /*handle*/) {}
  virtual void destroyed(ObjectKind, const void* /*handle*/) {}
  // An executor that does not exist (any more) was to be run or destroyed.
  virtual void missing_executor(const void* /*handle*/, bool /*to_run*/) {}

  // Memory was made; `begin` may be changed to the address that the program shall see.
  virtual void allocated(Allocation&) {}
  virtual void freeing(const Allocation&) {}

  // Phase one accepted a call, or did not.
  virtual void planned(const void* /*executor*/, const Advice&) {}
  virtual void refused(const Advice&) {}

  // Before the work is handed over.  A failure is the work's, which is then not done.  After the work was handed over.
  virtual Status submitting(const StreamInfo* /*stream*/, const Work&) { return {}; }
  virtual void submitted(const StreamInfo* /*stream*/, const Work&) {}
  virtual std::unique_ptr<Watch> watch(const StreamInfo&, const Work&, std::span<const Use> /*where it really is*/) {
    return nullptr;
  }

  virtual void recorded(const void* /*event*/, const StreamInfo&) {}
  virtual void reset(const void* /*event*/, const StreamInfo&) {}
  virtual void waits(const StreamInfo&, const void* /*event*/) {}
  // The host knows that everything up to there is done.
  virtual void joined(const StreamInfo&) {}
  virtual void joined_event(const void* /*event*/) {}
  virtual void stream_ended(const StreamInfo&) {}

  // The call is known by an address that no other has until it is over.  Told by the thread that runs or drops it.
  virtual void host_function(uint32_t /*stream*/, const void* /*call*/, HostFunction) {}

  virtual void finalizing() {}
};

namespace detail {
using Observers = std::vector<Observer*>;
extern std::atomic<const Observers*> observers;
}  // namespace detail

// Relaxed: an acquiring load waits, on Arm, for the stores of the mutex that was let go of before.
inline bool observed() { return detail::observers.load(std::memory_order_relaxed) != nullptr; }

// Calls body(observer) for each there is.
template <class Body> void observe(const Body& body) {
  if (observed()) [[unlikely]]
    for (Observer* observer : *detail::observers.load(std::memory_order_acquire)) body(*observer);
}

// For ever: observers are never removed.  While the library is loaded.
void add_observer(Observer* observer);

// The C function that this thread is in; empty outside.  Known while there is an observer.
const char* current_function();

// A C function of the program's, from its first to its last statement.
class ApiCall {
 public:
  explicit ApiCall(const char* function) : entered_(observed()) {
    if (entered_) [[unlikely]]
      enter(function);
  }
  ~ApiCall() {
    if (entered_) [[unlikely]]
      leave();
  }
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

 private:
  void enter(const char* function);
  void leave();
  bool entered_;
  const char* outer_ = nullptr;
};

}  // namespace descend
