// SPDX-License-Identifier: MIT
// A program that flushes subnormals to 0 from its beginning, as those do that are linked with -ffast-math: the
// runtime's threads begin so, too.  How many of the subnormals that an operator has to keep it keeps.
#include <acl/acl.h>
#include <aclnnop/aclnn_elu.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

int main() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#else
  asm volatile("msr fpcr, %0" ::"r"(uint64_t{1} << 24));
#endif
  const int64_t count = 1 << 20;
  const size_t bytes = count * sizeof(float);
  const uint32_t subnormal = 71362;  // 1e-40
  std::vector<uint32_t> numbers(count, subnormal);
  check(aclInit(nullptr), "init");
  check(aclrtSetDevice(0), "set");
  void* memory = nullptr;
  check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  check(aclrtMemcpy(memory, bytes, numbers.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "copy");
  float number = 1;
  aclScalar* const one = aclCreateScalar(&number, ACL_FLOAT);
  aclTensor* const tensor = aclCreateTensor(&count, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &count, 1, memory);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  check(aclnnInplaceEluGetWorkspaceSize(tensor, one, one, one, &size, &executor), "plan");
  check(aclnnInplaceElu(nullptr, 0, executor, nullptr), "run");
  check(aclrtSynchronizeStream(nullptr), "synchronize");
  check(aclrtMemcpy(numbers.data(), bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "copy back");
  int kept = 0;
  for (const uint32_t each : numbers) kept += each == subnormal;
  std::printf("%d of %d kept\n", kept, static_cast<int>(count));
}
