// SPDX-License-Identifier: MIT
// Opaque handles: numbers that are never reused and are no addresses, so that a destroyed or foreign one is recognised.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/status.h"

namespace descend {

enum class HandleKind : uint8_t { kContext = 1, kStream = 2, kEvent = 3 };

// A new handle of this kind.  The top byte is one that no address of a process has, and the low bits are zero as those
// of a pointer would be.
void* new_handle(HandleKind kind);

// What a handle that was not found is, in words: "a stream that was destroyed", "an event", ...
std::string describe_handle(const void* handle);

// 107017, with what the handle is instead of what it should be.
Status invalid_handle(const char* parameter, HandleKind expected, const void* handle);

// From handles to the objects they stand for.  An object lives on while somebody uses it after it was removed.
template <class T> class Handles {
 public:
  void add(void* handle, std::shared_ptr<T> object) {
    const std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
  }
  std::shared_ptr<T> find(const void* handle) const {
    const std::shared_lock lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
  }
  // Null when another thread removed it before.
  std::shared_ptr<T> remove(const void* handle) {
    const std::unique_lock lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }
  // Held across a fork, so that the child finds everything whole; there the lock is made anew, because threads that
  // waited for it are not in the child.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  void renew_after_fork() { new (&mutex_) std::shared_mutex; }

  std::vector<std::shared_ptr<T>> all() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [handle, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

}  // namespace descend
