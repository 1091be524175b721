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
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"

namespace {

enum Refusal { kNone, kOnce, kAll };
std::atomic<Refusal> refusal{kNone};
std::atomic<bool> begun{false}, open{false}, other_open{false}, ran{false};
std::atomic<int> refused{0};
Refusal refusal_behind_function = kAll;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::fflush(stdout);
  _Exit(1);
}

bool fails(aclError result) {
  const char* const text = aclGetRecentErrMsg();
  std::printf("%d: %s\n", result, text ? text : "");
  return result != ACL_SUCCESS && text && std::strstr(text, "thread");
}

void end_thread(void*) {
  begun = true;
  while (!open) usleep(100);
  refusal = refusal_behind_function;
  pthread_exit(nullptr);
}

bool reached(aclrtEvent event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  check(aclrtQueryEventStatus(event, &status), "query");
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}
bool waited_for(aclrtEvent event) {
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_NOT_READY;
  check(aclrtQueryEventWaitStatus(event, &status), "query of the waits");
  return status == ACL_EVENT_WAIT_STATUS_COMPLETE;
}
bool is_done(aclrtStream stream) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  check(aclrtStreamQuery(stream, &status), "query of the stream");
  return status == ACL_STREAM_STATUS_COMPLETE;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  Refusal once = kOnce;
  if (refusal.compare_exchange_strong(once, kNone) || once == kAll) return ++refused, EAGAIN;
  return reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, function, argument);
}

int main(int count, char** arguments) {
  const auto is = [&](const char* name) { return count > 1 && std::strcmp(arguments[1], name) == 0; };
  check(aclInit(nullptr), "init");
  check(aclrtSetDevice(0), "set");
  aclrtStream stream = nullptr, other = nullptr;
  aclrtEvent event = nullptr, awaited = nullptr;
  check(aclrtCreateStream(&stream), "stream");
  check(aclrtCreateStream(&other), "stream");
  check(aclrtCreateEvent(&event), "event");
  check(aclrtCreateEvent(&awaited), "event");

  if (is("synchronous")) {  // calls return when what they have queued is done
    std::thread ending([&] { (void)aclrtLaunchHostFunc(stream, end_thread, nullptr); });
    while (!begun) usleep(100);
    std::thread opening([] { usleep(100000), open = true; });
    const aclError queued = aclrtLaunchHostFunc(
        stream, [](void*) { ran = true; }, nullptr);  // returns, although no thread can do it
    opening.join(), ending.join();
    refusal = kNone;
    check(aclrtSynchronizeStream(stream), "synchronise");
    expect(ran || queued != ACL_SUCCESS, "what was behind the function has run");
    std::puts("the stream went on");
    return 0;
  }

  if (is("polled_wait")) {
    check(aclrtLaunchHostFunc(
              other,
              [](void*) {
                while (!other_open) usleep(100);
              },
              nullptr),
          "host function");
    check(aclrtRecordEvent(awaited, other), "record");
  }
  check(aclrtLaunchHostFunc(stream, end_thread, nullptr), "host function");
  if (is("polled_wait")) check(aclrtStreamWaitEvent(stream, awaited), "wait");
  check(aclrtLaunchHostFunc(
            stream, [](void*) { ran = true; }, nullptr),
        "host function");
  check(aclrtRecordEvent(event, stream), "record");
  std::thread waiting;  // begins to wait while all is well
  if (is("waiting_for_event"))
    waiting = std::thread([&] { expect(fails(aclrtSynchronizeEvent(event)), "who waits for the event is told"); });
  if (is("waiting_for_stream"))
    waiting = std::thread([&] { expect(fails(aclrtSynchronizeStream(stream)), "who waits for the stream is told"); });
  usleep(waiting.joinable() ? 100000 : 0);
  if (is("destroyed_before")) {
    const char* const device = std::getenv("DESCEND_DEVICE");
    if (device && std::strcmp(device, "cpu") != 0) refusal_behind_function = kOnce;  // the emulated card is threads
    while (!begun) usleep(100);
    check(aclrtDestroyStreamForce(stream), "destroy");
  }
  open = true;
  while (refused == 0) usleep(100);
  if (waiting.joinable()) {
    waiting.join();
    refusal = kNone;
    check(aclrtSynchronizeStream(stream), "synchronise");
  } else if (is("event")) {
    expect(fails(aclrtSynchronizeEvent(event)), "the event says that there is no thread");
    refusal = kNone;
    check(aclrtSynchronizeEvent(event), "synchronise the event");
  } else if (is("other_stream")) {
    refusal = kNone;
    check(aclrtStreamWaitEvent(other, event), "wait");
    check(aclrtSynchronizeStream(other), "synchronise the other stream");
  } else if (is("other_streams_failure")) {
    refusal = kNone;
    check(aclrtLaunchHostFunc(
              other, [](void*) {}, nullptr),
          "a thread for the other stream");
    refusal = kAll;
    check(aclrtStreamWaitEvent(other, event), "wait");
    expect(fails(aclrtSynchronizeStream(other)), "the stream that waits fails");
    refusal = kNone;
    check(aclrtSynchronizeStream(stream), "synchronise");
  } else if (is("polled_event")) {
    expect(!reached(event), "the event cannot be reached yet");
    refusal = kNone;
    while (!reached(event)) usleep(100);
  } else if (is("polled_stream")) {
    expect(!is_done(stream), "the stream cannot be done yet");
    refusal = kNone;
    while (!is_done(stream)) usleep(100);
  } else if (is("polled_wait")) {
    expect(!waited_for(awaited), "the stream cannot have waited yet");
    refusal = kNone;
    other_open = true;
    while (!waited_for(awaited)) usleep(100);
    check(aclrtSynchronizeStream(stream), "synchronise");
  } else if (is("destroyed_before")) {
    check(aclrtSynchronizeEvent(event), "synchronise the event");
  } else if (is("destroyed")) {
    refusal = kNone;  // the emulated card is threads, too; the stream starts none any more
    check(aclrtDestroyStreamForce(stream), "destroy");
    check(aclrtSynchronizeEvent(event), "synchronise the event");
  } else {
    expect(fails(aclrtSynchronizeStream(stream)), "the stream says that there is no thread");
    refusal = kNone;
    check(aclrtSynchronizeStream(stream), "synchronise");
  }
  expect(ran != (is("destroyed") || is("destroyed_before")), "what was behind the function has run");
  std::puts("the stream went on");
  std::fflush(stdout);
  _Exit(0);
}
