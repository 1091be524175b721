// SPDX-License-Identifier: MIT
// Ends in the way its argument says, without aclFinalize: must neither hang nor crash.
#include <acl/acl.h>
#include <aclnnop/aclnn_elu.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"

namespace {

void forever(void*) {
  for (;;) pause();
}

// Used by the destructor below, after main has returned.
aclrtStream stream;
void* memory;

struct LateUser {
  bool active = false;
  ~LateUser() {
    if (!active) return;
    check(aclrtMemsetAsync(memory, 64, 1, 64, stream), "late memset");
    check(aclrtSynchronizeStream(stream), "late synchronisation");
    check(aclrtSynchronizeStream(nullptr), "late synchronisation of the default stream");
    check(aclrtFree(memory), "late free");
    check(aclrtDestroyStream(stream), "late destruction");
    check(aclrtResetDevice(0), "late reset");
    check(aclFinalize(), "late finalize");
    std::puts("late user done");
  }
} late_user;

// A thread's own objects end after the runtime's: they may still call it.
struct ThreadLateUser {
  bool active = false;
  ~ThreadLateUser() {
    if (active) check(aclrtFree(memory), "free at the end of a thread");
  }
};
thread_local ThreadLateUser thread_late_user;

thread_local bool ends_with_next_thread = false;

}  // namespace

// The first parallel loop makes threads, and takes signals when it has: so it is interrupted in the middle.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (ends_with_next_thread) raise(SIGTERM);
  return reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, function, argument);
}

int main(int, char** arguments) {
  const char* how = arguments[1];
  const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
  if (is("unused")) return 0;
  check(aclInit(nullptr), "init");
  check(aclrtSetDevice(0), "set");
  check(aclrtCreateStream(&stream), "stream");
  check(aclrtMalloc(&memory, 1 << 22, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  check(aclrtMemsetAsync(memory, 1 << 22, 1, 1 << 22, stream), "memset");
  if (is("idle")) {
    check(aclrtSynchronizeStream(stream), "synchronise");
  } else if (is("busy")) {
    check(aclrtLaunchHostFunc(stream, forever, nullptr), "host function");
    check(aclrtLaunchHostFunc(nullptr, forever, nullptr), "host function");
  } else if (is("callback")) {
    check(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream), "subscribe");
    check(aclrtLaunchCallback(forever, nullptr, ACL_CALLBACK_BLOCK, stream), "callback");
  } else if (is("processing")) {
    std::thread processing([] {
      check(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream), "subscribe");
      aclrtProcessReport(-1);
    });
    processing.detach();
  } else if (is("waiting")) {
    check(aclrtLaunchHostFunc(stream, forever, nullptr), "host function");
    std::thread([] { aclrtSynchronizeStream(stream); }).detach();
  } else if (is("thread")) {
    std::thread([] { std::exit(0); }).join();
  } else if (is("late")) {
    late_user.active = true;
  } else if (is("thread_late")) {
    std::thread([] {
      thread_late_user.active = true;
      check(aclrtSetDevice(0), "set in a thread");
    }).join();
  } else if (is("last_thread")) {
    check(aclrtLaunchHostFunc(
              stream, [](void*) {}, nullptr),
          "host function");
    std::atexit([] { std::puts("ended with the last thread"); });
    pthread_exit(nullptr);
  } else if (is("atexit")) {
    std::atexit([] { check(aclFinalize(), "finalize at exit"); });
  } else if (is("cancel")) {
    // A thread that is cancelled while it waits for callbacks or runs one.
    pthread_t thread;
    static std::atomic<bool> begun{false};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          check(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream), "subscribe");
          const auto wait = [](void*) {
            begun = true;
            forever(nullptr);
          };
          check(aclrtLaunchCallback(wait, nullptr, ACL_CALLBACK_BLOCK, stream), "callback");
          for (;;) aclrtProcessReport(-1);
        },
        nullptr);
    while (!begun) usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    check(aclrtSynchronizeStream(stream), "a stream goes on after its callback was cancelled");
  } else if (is("cancelled_calls")) {
    // A thread that is to be cancelled makes calls: they do what they would have done, and it ends after them.
    static std::atomic<bool> done{false};
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          check(aclrtSetDevice(0), "set");
          const int64_t count = 1 << 22;
          void* memory = nullptr;
          check(aclrtMalloc(&memory, count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
          check(aclrtMemset(memory, count * sizeof(float), 0, count * sizeof(float)), "memset");
          aclTensor* self = aclCreateTensor(&count, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &count, 1, memory);
          float number = 1;
          aclScalar* one = aclCreateScalar(&number, ACL_FLOAT);
          uint64_t bytes = 0;
          aclOpExecutor* executor = nullptr;
          pthread_cancel(pthread_self());
          aclrtFree(nullptr);  // each writes why it fails
          aclnnElu(nullptr, 0, nullptr, nullptr);
          check(aclnnInplaceEluGetWorkspaceSize(self, one, one, one, &bytes, &executor), "phase one");
          check(aclnnInplaceElu(nullptr, 0, executor, stream), "phase two");
          done = true;
          forever(nullptr);
          return nullptr;
        },
        nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    check(aclrtSynchronizeStream(stream), "synchronise");
    std::puts(done && result == PTHREAD_CANCELED ? "cancelled after its calls" : "cancelled within a call");
  } else if (is("signal")) {
    // The handler interrupts the first parallel loop of the process.
    signal(SIGTERM, [](int) {
      std::puts("ended by the handler");
      std::exit(0);
    });
    constexpr size_t kBytes = 16 << 20;
    void *from = nullptr, *to = nullptr;
    check(aclrtMalloc(&from, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    check(aclrtMalloc(&to, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    ends_with_next_thread = true;
    check(aclrtMemcpy(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE), "copy");
    ends_with_next_thread = false;
  } else {
    return 2;
  }
  std::puts("main done");
  return 0;
}
