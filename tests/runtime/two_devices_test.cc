// SPDX-License-Identifier: MIT
// Two devices whose memory the host cannot touch: what may go between them, and that nothing touches it directly.
#include <numeric>

#include "tests/harness/variable.h"
#include "tests/runtime/opaque_backend.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

class RuntimeTwoDevices : public Fresh {
 protected:
  static constexpr size_t kBytes = 1000;

  void SetUp() override {
    Fresh::SetUp();
    static const bool added = [] {
      const VariableAtInit cpu("DESCEND_DEVICE", "cpu");
      EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
      return add_backend(new OpaqueBackend(*visible_devices().entries.front().backend));
    }();
    ASSERT_TRUE(added);
    device_.emplace("DESCEND_DEVICE", "opaque");
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << pending_error();
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    on_1_ = allocate();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    on_0_ = allocate();
    std::iota(numbers_.begin(), numbers_.end(), uint8_t{1});
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(on_0_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(on_1_), ACL_SUCCESS);
    aclrtResetDeviceForce(1);
    device_.reset();
    Fresh::TearDown();
  }
  static void* allocate() {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS) << pending_error();
    return memory;
  }
  static std::vector<uint8_t> read(const void* from) {
    std::vector<uint8_t> bytes(kBytes);
    EXPECT_EQ(aclrtMemcpy(bytes.data(), kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return bytes;
  }

  std::optional<Variable> device_;
  void* on_0_ = nullptr;
  void* on_1_ = nullptr;
  std::vector<uint8_t> numbers_ = std::vector<uint8_t>(kBytes);
};

TEST_F(RuntimeTwoDevices, there_are_two_and_a_thread_is_on_one) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 2u);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1) << "a context brings its device";
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
}

TEST_F(RuntimeTwoDevices, visible_devices_choose_and_order) {
  ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  const VariableAtInit visible("ASCEND_RT_VISIBLE_DEVICES", "1");
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST_F(RuntimeTwoDevices, copies_go_everywhere) {
  const aclrtStream streams[] = {nullptr};
  ASSERT_EQ(aclrtMemcpy(on_0_, kBytes, numbers_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(on_1_, kBytes, on_0_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(read(on_1_), numbers_);
  for (const aclrtStream stream : streams) {
    ASSERT_EQ(aclrtMemset(on_1_, kBytes, 0, kBytes), ACL_SUCCESS);
    Gate gate;
    gate.hold(stream);
    ASSERT_EQ(aclrtMemsetAsync(on_0_, kBytes, 9, kBytes, stream), ACL_SUCCESS);
    gate.wait_for_arrival();
    std::thread opener([&] { gate.open(); });
    ASSERT_EQ(aclrtMemcpyAsync(on_1_, kBytes, on_0_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
    EXPECT_EQ(read(on_1_), std::vector<uint8_t>(kBytes, 9)) << "in the order of the stream";
    opener.join();
  }
}

TEST_F(RuntimeTwoDevices, overlapping_ranges_and_pageable_memory_without_touching_device_memory) {
  char* at = static_cast<char*>(on_0_);
  std::vector<uint8_t> expected = numbers_;
  std::copy_backward(expected.begin(), expected.end() - 1, expected.end());
  for (const bool asynchronous : {false, true}) {
    ASSERT_EQ(aclrtMemcpyAsync(on_0_, kBytes, numbers_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
              ACL_SUCCESS);
    ASSERT_EQ(asynchronous ? aclrtMemcpyAsync(at + 1, kBytes, at, kBytes - 1, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr)
                           : aclrtMemcpy(at + 1, kBytes, at, kBytes - 1, ACL_MEMCPY_DEVICE_TO_DEVICE),
              ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    EXPECT_EQ(read(on_0_), expected);
  }
}

TEST_F(RuntimeTwoDevices, a_stream_fills_only_its_own_devices_memory) {
  expect_failure(aclrtMemsetAsync(on_1_, kBytes, 0, kBytes, nullptr), ACL_ERROR_RT_PARAM_INVALID, {"devPtr"});
  EXPECT_EQ(aclrtMemset(on_1_, kBytes, 0, kBytes), ACL_SUCCESS) << "the synchronous fill finds the device";
}

TEST_F(RuntimeTwoDevices, an_event_stays_on_its_device) {
  aclrtEvent event = nullptr, other = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  expect_failure(aclrtRecordEvent(event, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"device 0", "device 1"});
  expect_failure(aclrtResetEvent(event, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"device 0"});
  expect_failure(aclrtStreamWaitEvent(nullptr, event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"device 0"});
  ASSERT_EQ(aclrtCreateEvent(&other), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(other, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeEvent(other), ACL_SUCCESS);
  float ms = 0;
  expect_failure(aclrtEventElapsedTime(&ms, event, other), ACL_ERROR_RT_PARAM_INVALID, {"endEvent", "device 1"});
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(other), ACL_SUCCESS);
}

TEST_F(RuntimeTwoDevices, a_thread_serves_the_callbacks_of_one_device) {
  ASSERT_EQ(aclrtSubscribeReport(5, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  expect_failure(aclrtSubscribeReport(5, nullptr), ACL_ERROR_RT_THREAD_SUBSCRIBE, {"threadId", "device 0"});
  EXPECT_EQ(aclrtSubscribeReport(6, nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeTwoDevices, devices_are_each_others_peers) {
  int32_t can = 0;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 1);
  expect_failure(aclrtDeviceDisablePeerAccess(1), ACL_ERROR_RT_PARAM_INVALID, {"peerDeviceId"});
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(RuntimeTwoDevices, resetting_one_leaves_the_other) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN) << "each device has its own mode";
}

}  // namespace
}  // namespace descend::test
