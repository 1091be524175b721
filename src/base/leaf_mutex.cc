// SPDX-License-Identifier: MIT
#include "src/base/leaf_mutex.h"

#include <pthread.h>

#include <utility>

namespace descend {

struct LeafMutexes {
  std::mutex mutex;
  LeafMutex* first = nullptr;

  static LeafMutexes& all() {
    static LeafMutexes& list = *new LeafMutexes;
    return list;
  }
  LeafMutex* add(LeafMutex* leaf) {
    const std::lock_guard lock(mutex);
    return std::exchange(first, leaf);
  }
  void remove(const LeafMutex* leaf) {
    const std::lock_guard lock(mutex);
    LeafMutex** at = &first;
    while (*at != leaf) at = &(*at)->next_;
    *at = leaf->next_;
  }
  void lock() {
    mutex.lock();
    for (LeafMutex* leaf = first; leaf; leaf = leaf->next_) leaf->mutex_.lock();
  }
  void unlock() {
    for (LeafMutex* leaf = first; leaf; leaf = leaf->next_) leaf->mutex_.unlock();
    mutex.unlock();
  }
};

namespace {

// Registered when the library is loaded: before there is anything that a fork could break.  Before or after the
// device's locks, as the linker orders them: with those held nobody takes a leaf (but to log, where the environment's
// was taken long ago).
[[maybe_unused]] const int registered = pthread_atfork(
    [] { LeafMutexes::all().lock(); }, [] { LeafMutexes::all().unlock(); }, [] { LeafMutexes::all().unlock(); });

}  // namespace

LeafMutex::LeafMutex() : next_(LeafMutexes::all().add(this)) {}
LeafMutex::~LeafMutex() { LeafMutexes::all().remove(this); }

}  // namespace descend
