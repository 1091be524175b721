// SPDX-License-Identifier: MIT
// Counting forks, and holding the device's locks across them.
#include "src/backends/cpu/fork.h"

#include <pthread.h>

namespace descend {

namespace detail {
std::atomic<uint32_t> forks{0};
}

namespace {

// Registered when the library is loaded: before there is anything that a fork could break.
const int registered = pthread_atfork(
    [] {
      device_lock().lock();
      captures_lock().lock();
    },
    [] {
      captures_lock().unlock();
      device_lock().unlock();
    },
    [] {
      detail::forks.fetch_add(1, std::memory_order_relaxed);
      captures_lock().unlock();
      device_lock().unlock();
    });

}  // namespace

std::mutex& device_lock() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

std::mutex& captures_lock() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

}  // namespace descend
