// SPDX-License-Identifier: MIT
// What the tests of the cpu device share: the device, a gate to hold work at, and changed environment variables.
#pragma once
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "src/base/environment.h"
#include "src/device/backends.h"

namespace descend {

// Sets variables for the length of a test; null unsets one.
class ChangedEnvironment {
 public:
  ChangedEnvironment() = default;
  ChangedEnvironment(std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) set(name, value);
    reread_environment();
  }
  ~ChangedEnvironment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
    reread_environment();
  }
  ChangedEnvironment(const ChangedEnvironment&) = delete;

 private:
  void set(const char* name, const char* value) {
    const char* const old = std::getenv(name);
    before_.emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  }
  std::map<std::string, std::optional<std::string>> before_;
};

// Holds whoever passes until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_until_somebody_waits() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

inline Device& cpu_device() {
  const ChangedEnvironment cpu{{"DESCEND_DEVICE", "cpu"}, {"ASCEND_RT_VISIBLE_DEVICES", nullptr}};
  return *visible_devices().entries.at(0).device;
}

// Holds the stream at a gate, and returns when its thread is there.
inline void hold(Stream& stream, Gate& gate) {
  ASSERT_TRUE(stream.call_host([&gate] { gate.pass(); }).ok());
  gate.wait_until_somebody_waits();
}

constexpr Timeout kForEver = std::nullopt;
inline Timeout milliseconds(int count) { return std::chrono::milliseconds(count); }

}  // namespace descend
