// SPDX-License-Identifier: MIT
// Memory: allocating and freeing, and how much there is.
#include <cstring>
#include <vector>

#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeMemory = Started;

void* device_memory(size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS) << pending_error();
  return memory;
}

TEST_F(RuntimeMemory, device_memory_is_aligned_and_padded) {
  for (const size_t bytes : {1u, 31u, 32u, 33u, 100u, 4096u, 1000001u}) {
    void* memory = device_memory(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    const size_t all = (bytes + 31) / 32 * 32 + 32;
    std::vector<char> read(all + 1);
    EXPECT_EQ(aclrtMemset(memory, all, 1, all), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(read.data(), all, memory, all, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(read[all - 1], 1);
    expect_failure(aclrtMemcpy(read.data(), all + 1, memory, all + 1, ACL_MEMCPY_DEVICE_TO_HOST),
                   ACL_ERROR_RT_PARAM_INVALID, {"count", "src", std::to_string(all)});
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);

    ASSERT_EQ(aclrtMallocAlign32(&memory, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    EXPECT_EQ(aclrtMemset(memory, all - 32, 1, all - 32), ACL_SUCCESS);
    expect_failure(aclrtMemset(memory, all, 1, all - 31), ACL_ERROR_RT_PARAM_INVALID, {"count"});
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);

    ASSERT_EQ(aclrtMallocCached(&memory, bytes, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(memory, all, 1, all), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  }
}

TEST_F(RuntimeMemory, wrong_sizes_pointers_and_policies_are_refused) {
  void* memory = kRandomPointer;
  for (const auto allocate : {aclrtMalloc, aclrtMallocAlign32, aclrtMallocCached}) {
    expect_failure(allocate(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM, {"aclrtMalloc", "devPtr"});
    expect_failure(allocate(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM, {"size", "0"});
    expect_failure(allocate(&memory, 8, static_cast<aclrtMemMallocPolicy>(8)), ACL_ERROR_INVALID_PARAM,
                   {"policy", "8"});
    expect_failure(allocate(&memory, 8, static_cast<aclrtMemMallocPolicy>(-1)), ACL_ERROR_INVALID_PARAM, {"policy"});
    for (const size_t huge : {SIZE_MAX, SIZE_MAX - 31, SIZE_MAX - 64, SIZE_MAX / 2})
      expect_failure(allocate(&memory, huge, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION,
                     {"size", std::to_string(huge)});
    in_new_thread([&] { EXPECT_EQ(allocate(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL); });
  }
  expect_failure(aclrtMallocHost(nullptr, 8), ACL_ERROR_INVALID_PARAM, {"aclrtMallocHost", "hostPtr"});
  expect_failure(aclrtMallocHost(&memory, 0), ACL_ERROR_INVALID_PARAM, {"size"});
  expect_failure(aclrtMallocHost(&memory, SIZE_MAX), ACL_ERROR_RT_MEMORY_ALLOCATION, {"size"});
  in_new_thread([&] { EXPECT_EQ(aclrtMallocHost(&memory, 8), ACL_ERROR_RT_CONTEXT_NULL); });
  EXPECT_EQ(memory, kRandomPointer) << "a failure writes nothing";
}

TEST_F(RuntimeMemory, policies_may_carry_bits) {
  for (const int policy : {0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0x1000, 0x100000, 0x1000 | 2, 0x100 | 0x100000 | 7}) {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, 8, static_cast<aclrtMemMallocPolicy>(policy)), ACL_SUCCESS) << policy;
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  }
}

TEST_F(RuntimeMemory, only_allocations_are_freed_and_the_text_says_what_it_is_instead) {
  char* memory = static_cast<char*>(device_memory(64));
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 100), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 64, 0u);
  std::memset(host, 1, 100);

  expect_failure(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM, {"aclrtFree", "devPtr"});
  expect_failure(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM, {"aclrtFreeHost", "hostPtr"});
  expect_failure(aclrtFree(memory + 16), ACL_ERROR_RT_PARAM_INVALID, {"16 bytes into an allocation of 96 bytes"});
  expect_failure(aclrtFree(host), ACL_ERROR_RT_PARAM_INVALID, {"host memory from aclrtMallocHost"});
  expect_failure(aclrtFreeHost(memory), ACL_ERROR_RT_PARAM_INVALID, {"device memory"});
  int local = 0;
  expect_failure(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID, {"freed or did not come from this library"});
  expect_failure(aclrtFreeHost(&local), ACL_ERROR_RT_PARAM_INVALID, {"freed or did not come from this library"});
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  expect_failure(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID, {"freed or did not come from this library"});
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  expect_failure(aclrtFreeHost(host), ACL_ERROR_RT_PARAM_INVALID, {"freed"});
}

TEST_F(RuntimeMemory, freeing_needs_no_context) {
  void* memory = device_memory(64);
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 64), ACL_SUCCESS);
  in_new_thread([&] {
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  });
}

TEST_F(RuntimeMemory, memory_freed_while_queued_work_uses_it_is_safe) {
  const aclrtStream stream = new_stream();
  constexpr size_t kBytes = 1 << 20;
  void *from = device_memory(kBytes), *to = device_memory(kBytes), *host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, kBytes), ACL_SUCCESS);
  std::memset(host, 5, kBytes);
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtMemcpyAsync(from, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(from), ACL_SUCCESS) << "does not wait: the gate is closed";
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  void* other = device_memory(kBytes);  // must not be the memory that is still in use
  ASSERT_EQ(aclrtMemset(other, kBytes, 9, kBytes), ACL_SUCCESS);
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  std::vector<unsigned char> seen(kBytes);
  ASSERT_EQ(aclrtMemcpy(seen.data(), kBytes, to, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(std::vector<unsigned char>(kBytes, 5), seen);
  EXPECT_EQ(aclrtFree(to), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(other), ACL_SUCCESS);
}

TEST_F(RuntimeMemory, free_and_total_are_of_the_current_device) {
  for (const aclrtMemAttr attribute :
       {ACL_DDR_MEM, ACL_HBM_MEM, ACL_DDR_MEM_HUGE, ACL_DDR_MEM_NORMAL, ACL_HBM_MEM_HUGE, ACL_HBM_MEM_NORMAL}) {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(attribute, &free, &total), ACL_SUCCESS);
    EXPECT_GT(total, 0u) << attribute;
    EXPECT_GT(free, 0u);
    EXPECT_LE(free, total);
  }
  for (const aclrtMemAttr attribute : {ACL_DDR_MEM_P2P_HUGE, ACL_DDR_MEM_P2P_NORMAL, ACL_HBM_MEM_P2P_HUGE,
                                       ACL_HBM_MEM_P2P_NORMAL, ACL_HBM_MEM_HUGE1G, ACL_HBM_MEM_P2P_HUGE1G}) {
    size_t free = 7, total = 7;
    EXPECT_EQ(aclrtGetMemInfo(attribute, &free, &total), ACL_SUCCESS);
    EXPECT_EQ(total, 0u) << attribute;
    EXPECT_EQ(free, 0u);
  }
  size_t free = 0, total = 0;
  expect_failure(aclrtGetMemInfo(static_cast<aclrtMemAttr>(12), &free, &total), ACL_ERROR_INVALID_PARAM,
                 {"attr", "12"});
  expect_failure(aclrtGetMemInfo(static_cast<aclrtMemAttr>(-1), &free, &total), ACL_ERROR_INVALID_PARAM, {"attr"});
  expect_failure(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), ACL_ERROR_INVALID_PARAM, {"free"});
  expect_failure(aclrtGetMemInfo(ACL_HBM_MEM, &free, nullptr), ACL_ERROR_INVALID_PARAM, {"total"});
  in_new_thread([] {
    size_t mine = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &mine, &mine), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

}  // namespace
}  // namespace descend::test
