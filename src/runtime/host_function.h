// SPDX-License-Identifier: MIT
// A function of the program that a stream is to call.
#pragma once
#include <cstdint>

namespace descend {

// Observers know of it while there is one: whoever runs it or drops it has only to let it go.  Made and let go with no
// lock held.
class HostCall {
 public:
  using Function = void (*)(void*);

  // `blocks`: the stream waits for it.
  HostCall(Function function, void* argument, uint32_t stream_id, bool blocks);
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  // Calls the function and logs an exception instead of passing it on.
  void run() const;

 private:
  const Function function_;
  void* const argument_;
  const uint32_t stream_id_;
  const bool blocks_;
};

}  // namespace descend
