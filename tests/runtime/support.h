// SPDX-License-Identifier: MIT
// What the tests of the runtime share: a fixture, a gate that holds a stream busy, and looking at failures.
#pragma once
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"

namespace descend::test {

inline std::string pending_error() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

// The code, and a text that holds each of the parts.
inline void expect_failure(aclError got, aclError expected, const std::vector<std::string>& parts) {
  EXPECT_EQ(got, expected);
  const std::string text = pending_error();
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

// Holds streams busy until it is opened, without looking at a clock.
class Gate {
 public:
  Gate() {
    // Kept for ever: a held stream may look at it after the test has gone.
    static std::mutex& mutex = *new std::mutex;
    static std::deque<State>& all = *new std::deque<State>;
    const std::lock_guard lock(mutex);
    state_ = &all.emplace_back();
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void hold(aclrtStream stream) { ASSERT_EQ(aclrtLaunchHostFunc(stream, wait_in, state_), ACL_SUCCESS); }
  void open() {
    const std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }
  // Returns when a stream has come to the gate.
  void wait_for_arrival() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->arrived > 0; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    int arrived = 0;
  };
  static void wait_in(void* pointer) {
    State& state = *static_cast<State*>(pointer);
    std::unique_lock lock(state.mutex);
    ++state.arrived;
    state.changed.notify_all();
    state.changed.wait(lock, [&] { return state.open; });
  }
  State* state_;
};

// Runs a function in a thread of its own, which begins without a context.
template <class Function> void in_new_thread(Function&& function) {
  std::thread(std::forward<Function>(function)).join();
}

// The runtime as a program finds it before its first call.
class Fresh : public testing::Test {
 protected:
  void SetUp() override { end(); }
  void TearDown() override {
    end();
    // Reads the environment as it is now, for the tests that follow.
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS) << pending_error();
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  static void end() {
    aclFinalize();
    while (aclrtResetDeviceForce(0) == ACL_SUCCESS) continue;
    aclGetRecentErrMsg();
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  }
};

// Initialised, with device 0 set.
class Started : public Fresh {
 protected:
  void SetUp() override {
    Fresh::SetUp();
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << pending_error();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << pending_error();
  }
  static aclrtStream new_stream() {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS) << pending_error();
    EXPECT_NE(stream, nullptr);
    return stream;
  }
  static aclrtEvent new_event() {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS) << pending_error();
    EXPECT_NE(event, nullptr);
    return event;
  }
};

inline void* const kRandomPointer = reinterpret_cast<void*>(0x1234567890);

}  // namespace descend::test
