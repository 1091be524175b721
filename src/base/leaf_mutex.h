// SPDX-License-Identifier: MIT
// A mutex that a fork does not leave locked in the child.
#pragma once
#include <mutex>

namespace descend {

// For short critical sections in which no other lock is taken: a fork takes all of these, after the locks of the upper
// layers, and lets them go in both processes.
class LeafMutex {
 public:
  LeafMutex();
  ~LeafMutex();
  LeafMutex(const LeafMutex&) = delete;
  LeafMutex& operator=(const LeafMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct LeafMutexes;
  std::mutex mutex_;
  LeafMutex* next_;
};

}  // namespace descend
