// SPDX-License-Identifier: MIT
// A host function ends its stream's thread, and no other can be started: what is behind the function is not waited for
// in vain, and runs when threads can be started again.
#include <acl/acl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "check.h"

namespace {

std::atomic<bool> refuses{false}, ran{false};
std::atomic<int> refused{0};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::fflush(stdout);
  _Exit(1);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (refuses) return ++refused, EAGAIN;
  return reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, function, argument);
}

int main(int count, char** arguments) {
  const auto is = [&](const char* name) { return count > 1 && std::strcmp(arguments[1], name) == 0; };
  check(aclInit(nullptr), "init");
  check(aclrtSetDevice(0), "set");
  aclrtStream stream = nullptr, other = nullptr;
  aclrtEvent event = nullptr;
  check(aclrtCreateStream(&stream), "stream");
  check(aclrtCreateStream(&other), "stream");
  check(aclrtCreateEvent(&event), "event");
  static std::atomic<bool> open{false};
  const auto end_thread = [](void*) {
    while (!open) usleep(100);
    refuses = true;
    pthread_exit(nullptr);
  };
  check(aclrtLaunchHostFunc(stream, end_thread, nullptr), "host function");
  check(aclrtLaunchHostFunc(
            stream, [](void*) { ran = true; }, nullptr),
        "host function");
  check(aclrtRecordEvent(event, stream), "record");
  const auto fails = [](aclError result) {
    const char* const text = aclGetRecentErrMsg();
    std::printf("%d: %s\n", result, text ? text : "");
    return result != ACL_SUCCESS && text && std::strstr(text, "thread");
  };
  std::thread waiting;  // begins to wait while all is well
  if (is("waiting_for_event"))
    waiting = std::thread([&] { expect(fails(aclrtSynchronizeEvent(event)), "who waits for the event is told"); });
  if (is("waiting_for_stream"))
    waiting = std::thread([&] { expect(fails(aclrtSynchronizeStream(stream)), "who waits for the stream is told"); });
  usleep(waiting.joinable() ? 100000 : 0);
  open = true;
  while (refused == 0) usleep(100);
  if (waiting.joinable()) {
    waiting.join();
    refuses = false;
    check(aclrtSynchronizeStream(stream), "synchronise");
  } else if (is("event")) {
    expect(fails(aclrtSynchronizeEvent(event)), "the event says that there is no thread");
    refuses = false;
    check(aclrtSynchronizeEvent(event), "synchronise the event");
  } else if (is("other_stream")) {
    refuses = false;
    check(aclrtStreamWaitEvent(other, event), "wait");
    check(aclrtSynchronizeStream(other), "synchronise the other stream");
  } else if (is("destroyed")) {
    refuses = false;  // the emulated card is threads, too; the stream starts none any more
    check(aclrtDestroyStreamForce(stream), "destroy");
    check(aclrtSynchronizeEvent(event), "synchronise the event");
  } else {
    expect(fails(aclrtSynchronizeStream(stream)), "the stream says that there is no thread");
    refuses = false;
    check(aclrtSynchronizeStream(stream), "synchronise");
  }
  expect(ran != is("destroyed"), "what was behind the function has run");
  std::puts("the stream went on");
  std::fflush(stdout);
  _Exit(0);
}
