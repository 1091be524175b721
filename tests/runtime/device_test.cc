// SPDX-License-Identifier: MIT
// Devices: setting, resetting and counting; what is asked about them.
#include <cstring>

#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeDevice = Fresh;
using RuntimeStartedDevice = Started;

TEST_F(RuntimeDevice, set_and_reset_are_counted) {
  expect_failure(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, {"aclrtResetDevice", "deviceId", "0"});
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext context = nullptr, again = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&again), ACL_SUCCESS);
  EXPECT_EQ(context, again);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetCurrentContext(&again), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE) << "its streams went with the context";
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetCurrentContext(context), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
}

TEST_F(RuntimeDevice, force_ignores_the_count_once) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  expect_failure(aclrtResetDeviceForce(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, {"aclrtResetDeviceForce"});
  EXPECT_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
}

TEST_F(RuntimeDevice, a_device_that_is_not_there_is_refused) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  ASSERT_GE(count, 1u);
  for (const int32_t bad : {-1, static_cast<int32_t>(count), INT32_MAX, INT32_MIN}) {
    expect_failure(aclrtSetDevice(bad), ACL_ERROR_RT_INVALID_DEVICEID, {"deviceId", std::to_string(bad)});
    expect_failure(aclrtResetDevice(bad), ACL_ERROR_RT_INVALID_DEVICEID, {"deviceId"});
    expect_failure(aclrtResetDeviceForce(bad), ACL_ERROR_RT_INVALID_DEVICEID, {"deviceId"});
  }
  expect_failure(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM, {"count"});
}

TEST_F(RuntimeDevice, reset_waits_for_the_work_of_the_context) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::atomic<int> ran{0};
  Gate gate;
  for (const aclrtStream each : {stream, aclrtStream{nullptr}}) {
    gate.hold(each);
    ASSERT_EQ(aclrtLaunchHostFunc(
                  each, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran),
              0);
  }
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(ran, 2);
  opener.join();
}

TEST_F(RuntimeDevice, the_device_is_the_threads_own) {
  int32_t device = -1;
  expect_failure(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL, {"aclrtGetDevice", "aclrtSetDevice"});
  EXPECT_EQ(device, -1);
  expect_failure(aclrtGetDevice(nullptr), ACL_ERROR_INVALID_PARAM, {"deviceId"});
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  in_new_thread([] {
    int32_t mine = -1;
    EXPECT_EQ(aclrtGetDevice(&mine), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&mine), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&mine), ACL_SUCCESS) << "another thread still uses the shared context";
  });
}

TEST_F(RuntimeStartedDevice, the_program_runs_on_a_host) {
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
  expect_failure(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM, {"runMode"});
}

TEST_F(RuntimeStartedDevice, the_product_has_a_name_that_stays) {
  const char* name = aclrtGetSocName();
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(std::strncmp(name, "Ascend", 6), 0);
  EXPECT_EQ(aclrtGetSocName(), name);
}

TEST_F(RuntimeStartedDevice, synchronising_waits_for_all_streams_of_the_device) {
  aclrtContext first = nullptr, second = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
  const aclrtStream mine = new_stream();
  ASSERT_EQ(aclrtCreateContext(&second, 0), ACL_SUCCESS);
  const aclrtStream other = new_stream();
  ASSERT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
  std::atomic<int> ran{0};
  Gate gate;
  const auto queue = [&](aclrtStream stream) {
    gate.hold(stream);
    ASSERT_EQ(aclrtLaunchHostFunc(
                  stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran),
              0);
  };
  queue(mine);
  queue(nullptr);
  ASSERT_EQ(aclrtSetCurrentContext(second), ACL_SUCCESS);
  queue(other);
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(ran, 3);
  opener.join();
  EXPECT_EQ(aclrtDestroyContext(second), ACL_SUCCESS);
}

TEST_F(RuntimeStartedDevice, the_overflow_mode_is_kept) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  expect_failure(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM, {"mode", "2"});
  expect_failure(aclrtSetDeviceSatMode(static_cast<aclrtFloatOverflowMode>(-1)), ACL_ERROR_INVALID_PARAM, {"mode"});
  expect_failure(aclrtGetDeviceSatMode(nullptr), ACL_ERROR_INVALID_PARAM, {"mode"});
  in_new_thread([] { EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_ERROR_RT_CONTEXT_NULL); });
}

TEST_F(RuntimeStartedDevice, the_overflow_flag_reads_as_zeros_in_stream_order) {
  void* memory = nullptr;
  ASSERT_EQ(aclrtMallocAlign32(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemset(memory, 64, 0xFF, 64), ACL_SUCCESS);
  const aclrtStream stream = new_stream();
  EXPECT_EQ(aclrtResetOverflowStatus(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetOverflowStatus(memory, 64, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  unsigned char bytes[64];
  ASSERT_EQ(aclrtMemcpy(bytes, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  for (const unsigned char byte : bytes) EXPECT_EQ(byte, 0);
  expect_failure(aclrtGetOverflowStatus(nullptr, 64, stream), ACL_ERROR_INVALID_PARAM, {"outputAddr"});
  expect_failure(aclrtGetOverflowStatus(memory, 0, stream), ACL_ERROR_RT_PARAM_INVALID, {"outputSize"});
  expect_failure(aclrtGetOverflowStatus(memory, 65, stream), ACL_ERROR_RT_PARAM_INVALID, {"64 bytes"});
  expect_failure(aclrtGetOverflowStatus(memory, 64, kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
  expect_failure(aclrtResetOverflowStatus(kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(RuntimeStartedDevice, a_device_is_no_peer_of_itself) {
  int32_t can = -1;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 0), ACL_SUCCESS);
  EXPECT_EQ(can, 0);
  expect_failure(aclrtDeviceCanAccessPeer(nullptr, 0, 0), ACL_ERROR_INVALID_PARAM, {"canAccessPeer"});
  expect_failure(aclrtDeviceCanAccessPeer(&can, 0, -1), ACL_ERROR_RT_INVALID_DEVICEID, {"peerDeviceId"});
  expect_failure(aclrtDeviceCanAccessPeer(&can, -1, 0), ACL_ERROR_RT_INVALID_DEVICEID, {"deviceId"});
  expect_failure(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_RT_PARAM_INVALID, {"peerDeviceId"});
  expect_failure(aclrtDeviceEnablePeerAccess(0, 1), ACL_ERROR_RT_PARAM_INVALID, {"flags", "1"});
  expect_failure(aclrtDeviceEnablePeerAccess(-1, 0), ACL_ERROR_RT_INVALID_DEVICEID, {"peerDeviceId"});
  expect_failure(aclrtDeviceDisablePeerAccess(0), ACL_ERROR_RT_PARAM_INVALID, {"peerDeviceId"});
  expect_failure(aclrtDeviceDisablePeerAccess(-1), ACL_ERROR_RT_INVALID_DEVICEID, {"peerDeviceId"});
  in_new_thread([] {
    EXPECT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtDeviceDisablePeerAccess(0), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

}  // namespace
}  // namespace descend::test
