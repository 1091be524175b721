// SPDX-License-Identifier: MIT
// What a backend implements: four classes and a table of kernels.  Nothing above this file knows which backend it talks
// to.
//
// Unless a comment says otherwise, every function may be called from any thread, two calls on one object may overlap,
// and a failure leaves the object usable.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/base/timeout.h"
#include "src/device/kernel.h"

namespace descend {

class Stream;

// A point in a stream.  Belongs to the device that made it.  Recording again replaces the captured point; waits that
// were submitted before keep the point they saw.
class Event {
 public:
  virtual ~Event() = default;                       // does not wait; waits already submitted still see their point
  virtual bool recorded() const = 0;                // a point was captured (and not reset since)
  virtual bool reached() const = 0;                 // everything captured is done; true when nothing was captured
  virtual Status failure() const { return {}; }     // why it will not be reached; ok while it may be
  virtual bool waits_done() const = 0;              // no stream is still waiting for this event
  virtual Status synchronize(Timeout timeout) = 0;  // blocks until reached; kEventTimeout when it is not in time
  // Milliseconds between two reached points of one device.
  virtual double milliseconds_since(const Event& earlier) const = 0;
};

// What a kernel is launched with.
struct Launch {
  Stream& stream;
  std::byte* workspace;
  const char* function;  // of the API, for texts: lives as long as the process
};

// A reference to a callable, for calls that end before the callable does.  Never stored.
template <class Signature> class FunctionRef;
template <class Result, class... Parameters> class FunctionRef<Result(Parameters...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Parameters... parameters) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Parameters&&>(parameters)...);
        }) {}
  Result operator()(Parameters... parameters) const { return call_(object_, static_cast<Parameters&&>(parameters)...); }

 private:
  void* object_;
  Result (*call_)(void*, Parameters...);
};

// Work in the order of submission.  Every call but synchronize may return before the work is done; a failure of the
// work itself is kept and returned once by the next synchronize.  Copies and fills take addresses of this device or of
// the host.
class Stream {
 public:
  virtual ~Stream() = default;  // drops what has not begun, without waiting; what runs is left to finish by itself

  // Runs `work` before returning and is true, if that breaks no order and costs the caller little (`bytes` is what the
  // work touches); otherwise does nothing and is false.  A device that queues by itself always runs it: its work is
  // the queueing.  A failed Status is kept like that of submitted work.
  virtual bool try_run(FunctionRef<Status()> work, uint64_t bytes) = 0;
  virtual Status submit(std::function<Status()> work) = 0;
  // Calls a function of the host in stream order, on a thread of the backend; later work waits for it.  One that
  // `awaits_others` ends when the program has done something elsewhere: no call waits for it, or for what is behind it,
  // where calls are synchronous.
  virtual Status call_host(std::function<void()> function, bool awaits_others) = 0;
  Status call_host(std::function<void()> function) { return call_host(std::move(function), false); }
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;
  virtual Status fill(void* at, uint8_t byte, size_t bytes) = 0;
  virtual Status record(Event& event) = 0;
  // Later work waits for what the event has captured now.  When `timeout` passes first, the wait ends with
  // kEventTimeout.
  virtual Status wait(Event& event, Timeout timeout) = 0;
  // Puts the event back to "nothing captured", in stream order, unless it was recorded again meanwhile.
  virtual Status reset(Event& event) = 0;

  // Drops what has not begun, without waiting, while others may still hold the stream; it takes no work from now on.
  virtual void abandon() = 0;

  virtual bool idle() const = 0;                    // everything submitted so far is done
  virtual Status synchronize(Timeout timeout) = 0;  // blocks until idle; kStreamTimeout when it is not in time
  virtual void stop_on_failure(bool stop) = 0;      // after a failure drop later work until the next synchronize
  // Called for every failure of work, that of a wait included, before a synchronize can return it: on any thread, with
  // no lock held.  Set before there is work.
  virtual void on_failure(std::function<void(const Status&)> listener) = 0;
};

struct MemoryInfo {
  size_t free = 0;
  size_t total = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string description() const = 0;  // for people
  // Device memory, 64-byte aligned, uninitialised; null when there is not enough.
  virtual void* allocate(size_t bytes) = 0;
  // Does not wait.  Work submitted before may still use the memory; it is given back after that work.
  virtual void free(void* memory) = 0;
  // Host memory that streams copy from and to without blocking the caller.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void free_host(void* memory) = 0;
  // Synchronous, and does not wait for streams.
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;
  virtual Status fill(void* at, uint8_t byte, size_t bytes) = 0;
  // Null when there is none left; `why` then has the reason where the device knows it.
  virtual std::unique_ptr<Stream> make_stream(Status* why = nullptr) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual MemoryInfo memory() const = 0;
  // Whether kernels run on the host and reach its memory, so that what they read can be looked at there.
  virtual bool memory_is_the_hosts() const { return false; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // what DESCEND_DEVICE calls it
  virtual int device_count() const = 0;
  virtual Device& device(int index) = 0;  // made at the first call; lives as long as the process
  virtual const KernelTable& kernels() const = 0;
  // True for the backend that runs each operator's reference instead of kernels.
  virtual bool runs_reference() const { return false; }
};

// The one symbol a plug-in exports: `extern "C" descend::Backend* descend_backend(uint64_t abi, const char** why)`.
// Null when it was built against another ABI or finds no device it can use; *why then says so in one sentence.
// The object lives as long as the process: plug-ins are never unloaded.
using BackendEntry = Backend* (*)(uint64_t abi, const char** why);
inline constexpr const char* kBackendEntryName = "descend_backend";

}  // namespace descend
