// SPDX-License-Identifier: MIT
// Copies where as many threads can be made as its first argument says and not one more, as in a control group with a
// limit (a user's, RLIMIT_NPROC, is none for root).  As many as the second says are for that; then three streams have
// theirs, if those are left.
#include <acl/acl.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

namespace {

std::atomic<int> most{1 << 20}, running{0};

struct Begin {
  void* (*function)(void*);
  void* argument;
};

void* begin(void* start) {
  const Begin copy = *static_cast<Begin*>(start);
  delete static_cast<Begin*>(start);
  void* const result = copy.function(copy.argument);
  --running;
  return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (++running > most) return --running, EAGAIN;
  return reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, begin,
                                                                       new Begin{function, argument});
}

int main(int, char** arguments) {
  most = std::atoi(arguments[1]);
  const int expected = std::atoi(arguments[2]);
  constexpr size_t kBytes = 64 << 20;  // many parts, for all threads
  std::vector<char> bytes(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<char>(i * 31 >> 8);
  check(aclInit(nullptr), "init");
  check(aclrtSetDevice(0), "set");
  void *from = nullptr, *to = nullptr;
  check(aclrtMalloc(&from, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  check(aclrtMalloc(&to, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  std::memcpy(from, bytes.data(), kBytes);
  const auto copy = [&] {
    std::memset(to, 0, kBytes);
    check(aclrtMemcpy(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE), "copy");
    if (std::memcmp(to, bytes.data(), kBytes) != 0) std::puts("wrong bytes"), std::fflush(stdout), _Exit(1);
  };
  // Until as many are there as there should be, and on.
  for (int round = 0; round < 10 || running < expected; ++round) copy();
  std::printf("%d threads are running\n", 1 + running);
  for (int i = 0; i < 3 && running < most; ++i) {
    aclrtStream stream = nullptr;
    check(aclrtCreateStream(&stream), "stream");
    check(aclrtLaunchHostFunc(
              stream, [](void*) {}, nullptr),
          "host function");
    check(aclrtSynchronizeStream(stream), "synchronise");
  }
  for (int round = 0; round < 10; ++round) copy();
  return 0;
}
