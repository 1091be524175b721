// SPDX-License-Identifier: MIT
// The end of a thread by pthread_exit or pthread_cancel: telling it from an exception, and putting it off.
#pragma once
#include <pthread.h>

#include <exception>

namespace descend {

// In a catch (...) block: whether what was caught is pthread_exit or pthread_cancel unwinding the thread, which must be
// thrown on: swallowing it aborts the process.  It is no C++ exception, so there is none to point at.
inline bool is_thread_ending() noexcept { return !std::current_exception(); }

// While there is one the thread is not cancelled, but afterwards: for functions that let nothing out.
class NotCancelled {
 public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, &before_); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_;
};

}  // namespace descend
