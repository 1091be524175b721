// SPDX-License-Identifier: MIT
// Forks after the runtime was used, in the way its argument says: the child must work, and end.
#include <acl/acl.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr size_t kBytes = 8 << 20;  // enough to be shared among cores

void use(aclrtStream stream) {
  void *device = nullptr, *host = nullptr;
  check(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  check(aclrtMallocHost(&host, kBytes), "host malloc");
  check(aclrtMemsetAsync(device, kBytes, 3, kBytes, stream), "memset");
  check(aclrtMemcpyAsync(host, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), "copy");
  aclrtEvent event = nullptr;
  check(aclrtCreateEvent(&event), "event");
  check(aclrtRecordEvent(event, stream), "record");
  check(aclrtSynchronizeEvent(event), "synchronise event");
  check(aclrtSynchronizeStream(stream), "synchronise stream");
  if (static_cast<char*>(host)[kBytes - 1] != 3) std::puts("wrong bytes"), std::fflush(stdout), _Exit(1);
  check(aclrtDestroyEvent(event), "destroy event");
  check(aclrtFreeHost(host), "free host");
  check(aclrtFree(device), "free");
}

void use_new() {
  check(aclrtSetDevice(0), "set");
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "stream");
  use(stream);
  check(aclrtDestroyStream(stream), "destroy stream");
  check(aclrtResetDevice(0), "reset");
}

pid_t child_of_function = -1;
void fork_here(void*) { child_of_function = fork(); }
void say_who_runs(void*) {
  std::puts(child_of_function == 0 ? "run by the child" : "run by the parent");
  std::fflush(stdout);
}

void wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::printf("the child ended with %d\n", status), std::fflush(stdout), _Exit(1);
}

thread_local bool waits_in_sysconf = false;
std::atomic<bool> is_in_sysconf{false}, may_leave_sysconf{false};

}  // namespace

// The first allocation of a process asks how much memory there is.
extern "C" long sysconf(int name) noexcept {
  if (waits_in_sysconf) {
    is_in_sysconf = true;
    while (!may_leave_sysconf) usleep(1000);
  }
  return reinterpret_cast<decltype(&sysconf)>(dlsym(RTLD_NEXT, "sysconf"))(name);
}

int main(int, char** arguments) {
  const char* how = arguments[1];
  const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
  check(aclInit(nullptr), "init");
  if (is("initialised")) {
    const pid_t child = fork();
    use_new();
    if (child == 0) return 0;
    wait_for(child);
    std::puts("parent done");
    return 0;
  }
  check(aclrtSetDevice(0), "set");
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "stream");
  if (is("first_allocation")) {
    std::thread first([] {
      waits_in_sysconf = true;
      use_new();
    });
    while (!is_in_sysconf) usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
      use(stream);
      std::exit(0);  // `first` is not here to be joined
    }
    wait_for(child);
    may_leave_sysconf = true;
    first.join();
  }
  use(stream);
  if (is("first_allocation")) {
    // Done before anything else was allocated.
  } else if (is("exit")) {
    const pid_t child = fork();
    if (child == 0) return 0;
    wait_for(child);
  } else if (is("inherited")) {
    const pid_t child = fork();
    if (child == 0) {
      use(stream);
      use(nullptr);
      check(aclrtDestroyStream(stream), "destroy stream");
      check(aclrtResetDevice(0), "reset");
      check(aclFinalize(), "finalize");
      return 0;
    }
    wait_for(child);
    use(stream);
  } else if (is("new")) {
    const pid_t child = fork();
    if (child == 0) {
      use_new();
      std::thread(use_new).join();
      return 0;
    }
    wait_for(child);
  } else if (is("busy")) {
    // What is queued in the parent is the parent's.
    static std::atomic<bool> open{false};
    check(aclrtLaunchHostFunc(
              stream,
              [](void*) {
                while (!open) usleep(1000);
              },
              nullptr),
          "host function");
    aclrtEvent event = nullptr;
    check(aclrtCreateEvent(&event), "event");
    check(aclrtRecordEvent(event, stream), "record");
    const pid_t child = fork();
    if (child == 0) {
      check(aclrtSynchronizeEvent(event), "synchronise the parent's event");
      check(aclrtSynchronizeStream(stream), "synchronise the parent's stream");
      use(stream);
      use_new();
      check(aclFinalize(), "finalize");
      return 0;
    }
    wait_for(child);
    open = true;
    check(aclrtSynchronizeStream(stream), "synchronise");
  } else if (is("callback")) {
    check(aclrtSubscribeReport(1, stream), "subscribe");
    check(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, stream), "callback");
    const pid_t child = fork();
    if (child == 0) {
      use(stream);
      check(aclrtSubscribeReport(1, stream), "subscribe in the child, which knows of no thread");
      check(aclFinalize(), "finalize");
      return 0;
    }
    wait_for(child);
  } else if (is("in_function")) {
    // The child has the stream's thread, but not what is behind the function.
    check(aclrtLaunchHostFunc(stream, fork_here, nullptr), "host function");
    check(aclrtLaunchHostFunc(stream, say_who_runs, nullptr), "host function");
    check(aclrtSynchronizeStream(stream), "synchronise");
    wait_for(child_of_function);
  } else if (is("in_callback")) {
    check(aclrtSubscribeReport(pthread_self(), stream), "subscribe");
    for (const auto function : {fork_here, say_who_runs})
      check(aclrtLaunchCallback(function, nullptr, ACL_CALLBACK_NO_BLOCK, stream), "callback");
    check(aclrtSynchronizeStream(stream), "synchronise");
    check(aclrtProcessReport(-1), "process");
    if (child_of_function == 0) return 0;
    wait_for(child_of_function);
  } else if (is("threads")) {
    // Locks are held by other threads at the moment of the fork.
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&stop] {
        while (!stop) {
          check(aclrtSetDevice(0), "set");
          aclrtStream own = nullptr;
          check(aclrtCreateStream(&own), "stream");
          void* memory = nullptr;
          check(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
          check(aclrtMemsetAsync(memory, 64, 0, 64, own), "memset");
          check(aclrtFree(memory), "free");
          check(aclrtDestroyStream(own), "destroy");
          check(aclrtResetDevice(0), "reset");
        }
      });
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        use(stream);
        use_new();
        std::fflush(stdout);
        std::exit(0);
      }
      wait_for(child);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
  } else {
    return 2;
  }
  std::puts("parent done");
  return 0;
}
