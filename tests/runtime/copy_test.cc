// SPDX-License-Identifier: MIT
// Copying and filling memory: every check, the order of the checks, and what becomes of the bytes.
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/runtime/support.h"

namespace descend::test {
namespace {

class RuntimeCopy : public Started {
 protected:
  static constexpr size_t kBytes = 256;

  void SetUp() override {
    Started::SetUp();
    ASSERT_EQ(aclrtMallocAlign32(&device_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocAlign32(&other_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocHost(&pinned_, kBytes), ACL_SUCCESS);
    std::iota(numbers_.begin(), numbers_.end(), uint8_t{0});
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(device_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(other_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(pinned_), ACL_SUCCESS);
    Started::TearDown();
  }
  void write(void* to) {
    ASSERT_EQ(aclrtMemcpy(to, kBytes, numbers_.data(), kBytes, ACL_MEMCPY_DEFAULT), ACL_SUCCESS) << pending_error();
  }
  static std::vector<uint8_t> read(const void* from) {
    std::vector<uint8_t> bytes(kBytes);
    EXPECT_EQ(aclrtMemcpy(bytes.data(), kBytes, from, kBytes, ACL_MEMCPY_DEFAULT), ACL_SUCCESS) << pending_error();
    return bytes;
  }

  void* device_ = nullptr;
  void* other_ = nullptr;
  void* pinned_ = nullptr;
  std::vector<uint8_t> numbers_ = std::vector<uint8_t>(kBytes);
};

TEST_F(RuntimeCopy, bytes_arrive_whatever_the_kind_says) {
  for (int kind = 0; kind <= 5; ++kind) {
    const auto as = static_cast<aclrtMemcpyKind>(kind);
    ASSERT_EQ(aclrtMemset(device_, kBytes, 0xEE, kBytes), ACL_SUCCESS);
    std::vector<uint8_t> back(kBytes), host(kBytes);
    EXPECT_EQ(aclrtMemcpy(device_, kBytes, numbers_.data(), kBytes, as), ACL_SUCCESS) << kind;
    EXPECT_EQ(aclrtMemcpy(other_, kBytes, device_, kBytes, as), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(pinned_, kBytes, other_, kBytes, as), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(host.data(), kBytes, pinned_, kBytes, as), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(back.data(), kBytes, host.data(), kBytes, as), ACL_SUCCESS);
    EXPECT_EQ(back, numbers_) << kind;
  }
}

TEST_F(RuntimeCopy, the_checks_come_in_their_order) {
  const aclrtMemcpyKind good = ACL_MEMCPY_DEFAULT;
  const auto copy = [&](void* to, size_t room, const void* from, size_t count, int kind) {
    return aclrtMemcpy(to, room, from, count, static_cast<aclrtMemcpyKind>(kind));
  };
  void* host = numbers_.data();
  EXPECT_EQ(copy(nullptr, 0, nullptr, 0, 99), ACL_SUCCESS) << "nothing to copy comes before everything else";
  expect_failure(copy(nullptr, 0, host, 8, 99), ACL_ERROR_INVALID_PARAM, {"aclrtMemcpy", "dst"});
  expect_failure(copy(device_, 0, nullptr, 8, 99), ACL_ERROR_INVALID_PARAM, {"src"});
  for (const int bad : {-1, 6, 7, 99})
    expect_failure(copy(device_, 0, host, 8, bad), ACL_ERROR_INVALID_PARAM, {"kind", std::to_string(bad)});
  expect_failure(copy(device_, 0, host, 8, good), ACL_ERROR_RT_PARAM_INVALID, {"destMax", "0"});
  expect_failure(copy(device_, 7, host, 8, good), ACL_ERROR_RT_PARAM_INVALID, {"count", "7", "8"});
  in_new_thread([&] {
    EXPECT_EQ(copy(device_, 0, host, 8, good), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(copy(device_, 8, host, 8, good), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(copy(nullptr, 0, nullptr, 0, 99), ACL_SUCCESS);
  });
  EXPECT_EQ(copy(device_, 8, device_, 8, good), ACL_SUCCESS) << "onto itself";
}

TEST_F(RuntimeCopy, nothing_is_read_or_written_past_the_end_of_an_allocation) {
  std::vector<uint8_t> large(2 * kBytes, 1);
  char* device = static_cast<char*>(device_);
  expect_failure(aclrtMemcpy(device_, 2 * kBytes, large.data(), kBytes + 1, ACL_MEMCPY_HOST_TO_DEVICE),
                 ACL_ERROR_RT_PARAM_INVALID, {"count", "dst", "256 bytes"});
  expect_failure(aclrtMemcpy(device + 200, kBytes, large.data(), 57, ACL_MEMCPY_HOST_TO_DEVICE),
                 ACL_ERROR_RT_PARAM_INVALID, {"count", "dst", "200 bytes into"});
  EXPECT_EQ(aclrtMemcpy(device + 200, kBytes, large.data(), 56, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  expect_failure(aclrtMemcpy(large.data(), 2 * kBytes, device_, kBytes + 1, ACL_MEMCPY_DEVICE_TO_HOST),
                 ACL_ERROR_RT_PARAM_INVALID, {"count", "src"});
  expect_failure(aclrtMemcpy(pinned_, 2 * kBytes, large.data(), kBytes + 1, ACL_MEMCPY_HOST_TO_HOST),
                 ACL_ERROR_RT_PARAM_INVALID, {"count", "dst", "aclrtMallocHost"});
  expect_failure(aclrtMemcpyAsync(device_, SIZE_MAX, pinned_, SIZE_MAX, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
                 ACL_ERROR_RT_PARAM_INVALID, {"count"});
  expect_failure(aclrtMemset(device_, 2 * kBytes, 0, kBytes + 1), ACL_ERROR_RT_PARAM_INVALID, {"count", "devPtr"});
  expect_failure(aclrtMemsetAsync(device + 1, kBytes, 0, kBytes, nullptr), ACL_ERROR_RT_PARAM_INVALID, {"count"});
}

TEST_F(RuntimeCopy, overlapping_ranges_are_copied_as_if_read_first) {
  const aclrtStream stream = new_stream();
  for (const bool asynchronous : {false, true}) {
    for (void* memory : {device_, pinned_}) {
      if (asynchronous && memory == pinned_) continue;  // host to host is not for streams
      for (const bool forwards : {false, true}) {
        write(memory);
        char* at = static_cast<char*>(memory);
        char *to = at + (forwards ? 10 : 0), *from = at + (forwards ? 0 : 10);
        ASSERT_EQ(asynchronous ? aclrtMemcpyAsync(to, 240, from, 240, ACL_MEMCPY_DEFAULT, stream)
                               : aclrtMemcpy(to, 240, from, 240, ACL_MEMCPY_DEFAULT),
                  ACL_SUCCESS);
        ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
        std::vector<uint8_t> expected = numbers_;
        std::memmove(expected.data() + (forwards ? 10 : 0), expected.data() + (forwards ? 0 : 10), 240);
        EXPECT_EQ(read(memory), expected);
      }
    }
  }
}

TEST_F(RuntimeCopy, the_synchronous_copy_does_not_wait_for_streams) {
  const aclrtStream stream = new_stream();
  Gate gate;
  gate.hold(stream);
  gate.hold(nullptr);
  write(device_);
  EXPECT_EQ(read(device_), numbers_);
  EXPECT_EQ(aclrtMemset(device_, kBytes, 0, kBytes), ACL_SUCCESS);
}

TEST_F(RuntimeCopy, with_pinned_memory_the_copy_is_queued) {
  const aclrtStream stream = new_stream();
  for (const auto copy : {aclrtMemcpyAsync, aclrtMemcpyAsyncWithCondition}) {
    std::memcpy(pinned_, numbers_.data(), kBytes);
    ASSERT_EQ(aclrtMemset(device_, kBytes, 0, kBytes), ACL_SUCCESS);
    Gate gate;
    gate.hold(stream);
    EXPECT_EQ(copy(device_, kBytes, pinned_, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
    EXPECT_EQ(copy(other_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemsetAsync(device_, kBytes, 0, kBytes, stream), ACL_SUCCESS);
    EXPECT_EQ(copy(pinned_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
    EXPECT_EQ(read(device_), std::vector<uint8_t>(kBytes, 0)) << "nothing has happened yet";
    gate.open();
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(read(other_), numbers_);
    EXPECT_EQ(read(pinned_), std::vector<uint8_t>(kBytes, 0));
  }
}

TEST_F(RuntimeCopy, with_pageable_memory_the_copy_is_done_on_return_in_stream_order) {
  const aclrtStream stream = new_stream();
  write(device_);
  ASSERT_EQ(aclrtMemset(other_, kBytes, 0, kBytes), ACL_SUCCESS);
  std::vector<uint8_t> host(kBytes);
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtMemcpyAsync(other_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(aclrtMemcpyAsync(host.data(), kBytes, other_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  EXPECT_EQ(host, numbers_) << "after the copy queued before it";
  opener.join();
  std::vector<uint8_t> source = numbers_;
  EXPECT_EQ(aclrtMemcpyAsync(device_, kBytes, source.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  source.assign(kBytes, 0);
  EXPECT_EQ(read(device_), numbers_);
}

TEST_F(RuntimeCopy, host_to_host_is_not_for_streams) {
  std::vector<uint8_t> host(kBytes);
  for (const auto copy : {aclrtMemcpyAsync, aclrtMemcpyAsyncWithCondition}) {
    expect_failure(copy(host.data(), kBytes, numbers_.data(), kBytes, ACL_MEMCPY_HOST_TO_HOST, nullptr),
                   ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"host", "aclrtMemcpy"});
    expect_failure(copy(pinned_, kBytes, numbers_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
                   ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"host"});
  }
}

TEST_F(RuntimeCopy, the_asynchronous_checks_come_in_their_order) {
  void* host = numbers_.data();
  for (const auto function : {aclrtMemcpyAsync, aclrtMemcpyAsyncWithCondition}) {
    const auto copy = [&](void* to, size_t room, const void* from, size_t count, int kind, void* stream) {
      return function(to, room, from, count, static_cast<aclrtMemcpyKind>(kind), stream);
    };
    EXPECT_EQ(copy(nullptr, 0, nullptr, 0, 99, nullptr), ACL_SUCCESS);
    expect_failure(copy(nullptr, 0, host, 8, 99, nullptr), ACL_ERROR_INVALID_PARAM, {"dst"});
    expect_failure(copy(device_, 0, nullptr, 8, 99, nullptr), ACL_ERROR_INVALID_PARAM, {"src"});
    expect_failure(copy(device_, 0, host, 8, 6, nullptr), ACL_ERROR_INVALID_PARAM, {"kind", "6"});
    expect_failure(copy(device_, 0, host, 8, 1, kRandomPointer), ACL_ERROR_RT_PARAM_INVALID, {"destMax"});
    expect_failure(copy(device_, 7, host, 8, 1, kRandomPointer), ACL_ERROR_RT_PARAM_INVALID, {"count"});
    expect_failure(copy(device_, 8, host, 8, 1, kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    EXPECT_EQ(copy(device_, 8, device_, 8, 3, nullptr), ACL_SUCCESS);
    in_new_thread([&] { EXPECT_EQ(copy(device_, 8, host, 8, 1, nullptr), ACL_ERROR_RT_CONTEXT_NULL); });
  }
}

TEST_F(RuntimeCopy, fills_take_one_byte_of_the_value) {
  EXPECT_EQ(aclrtMemset(device_, kBytes, 0x1234, kBytes), ACL_SUCCESS);
  EXPECT_EQ(read(device_), std::vector<uint8_t>(kBytes, 0x34));
  EXPECT_EQ(aclrtMemset(pinned_, kBytes, -1, kBytes - 1), ACL_SUCCESS) << "host memory from aclrtMallocHost too";
  EXPECT_EQ(static_cast<uint8_t*>(pinned_)[kBytes - 2], 0xFF);
  EXPECT_EQ(aclrtMemsetAsync(device_, kBytes, 7, 10, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(read(device_)[9], 7);
  EXPECT_EQ(read(device_)[10], 0x34);
}

TEST_F(RuntimeCopy, fills_are_checked) {
  EXPECT_EQ(aclrtMemset(nullptr, 0, 0, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(nullptr, 0, 0, 0, nullptr), ACL_SUCCESS);
  expect_failure(aclrtMemset(nullptr, 8, 0, 8), ACL_ERROR_INVALID_PARAM, {"aclrtMemset", "devPtr"});
  expect_failure(aclrtMemsetAsync(nullptr, 8, 0, 8, nullptr), ACL_ERROR_INVALID_PARAM, {"aclrtMemsetAsync", "devPtr"});
  expect_failure(aclrtMemset(device_, 7, 0, 8), ACL_ERROR_RT_PARAM_INVALID, {"count", "7", "8"});
  expect_failure(aclrtMemsetAsync(device_, 7, 0, 8, nullptr), ACL_ERROR_RT_PARAM_INVALID, {"count"});
  expect_failure(aclrtMemset(device_, 0, 0, 8), ACL_ERROR_RT_PARAM_INVALID, {"count"});
  expect_failure(aclrtMemset(numbers_.data(), kBytes, 0, kBytes), ACL_ERROR_RT_PARAM_INVALID,
                 {"devPtr", "aclrtMalloc"});
  expect_failure(aclrtMemsetAsync(numbers_.data(), kBytes, 0, kBytes, nullptr), ACL_ERROR_RT_PARAM_INVALID, {"devPtr"});
  expect_failure(aclrtMemsetAsync(device_, 8, 0, 8, kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
  in_new_thread([&] {
    EXPECT_EQ(aclrtMemset(device_, 8, 0, 8), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemsetAsync(device_, 8, 0, 8, nullptr), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

}  // namespace
}  // namespace descend::test
