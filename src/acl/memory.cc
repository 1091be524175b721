// SPDX-License-Identifier: MIT
// acl_rt.h: memory.
#include "src/runtime/memory.h"

#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/runtime/rules.h"

using namespace descend;

namespace {

// A policy is one of the first eight values, and may carry the bits that describe the memory.
Status is_policy(aclrtMemMallocPolicy policy) {
  constexpr uint32_t known = ACL_MEM_MALLOC_HUGE1G_ONLY_P2P | ACL_MEM_TYPE_LOW_BAND_WIDTH |
                             ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;
  const auto value = static_cast<uint32_t>(policy);
  if ((value & ~known) == 0) return {};
  return violation(Code::kInvalidParam, "policy", "is an aclrtMemMallocPolicy", cat(value));
}

aclError allocate(const char* function, void** devPtr, size_t size, aclrtMemMallocPolicy policy, Padding padding) {
  return guarded(function, [&]() -> Status {
    if (Status s = is_policy(policy); !s.ok()) return s;
    return allocate_device_memory(devPtr, size, padding);
  });
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return allocate(__func__, devPtr, size, policy, Padding::kExtra);
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return allocate(__func__, devPtr, size, policy, Padding::kNone);
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return allocate(__func__, devPtr, size, policy, Padding::kExtra);
}

aclError aclrtFree(void* devPtr) {
  return guarded(__func__, [&] { return free_device_memory(devPtr); });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return guarded(__func__, [&] { return allocate_host_memory(hostPtr, size); });
}

aclError aclrtFreeHost(void* hostPtr) {
  return guarded(__func__, [&] { return free_host_memory(hostPtr); });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return guarded(__func__, [&] { return copy_memory({dst, destMax, src, count, kind}); });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return guarded(__func__, [&] { return copy_memory({dst, destMax, src, count, kind}, stream); });
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  return guarded(__func__, [&] { return copy_memory({dst, destMax, src, count, kind}, stream); });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return guarded(__func__, [&] { return fill_memory({devPtr, maxCount, static_cast<uint8_t>(value), count}); });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return guarded(__func__, [&] { return fill_memory({devPtr, maxCount, static_cast<uint8_t>(value), count}, stream); });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return guarded(__func__, [&] { return memory_info(attr, free, total); });
}

}  // extern "C"
