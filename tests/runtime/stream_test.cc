// SPDX-License-Identifier: MIT
// Streams: order, waiting, ending, wrong handles.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "tests/harness/variable.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeStream = Started;

TEST_F(RuntimeStream, work_runs_in_order) {
  const aclrtStream stream = new_stream();
  static std::vector<int>* order;
  std::vector<int> seen;
  order = &seen;
  Gate gate;
  gate.hold(stream);
  static int numbers[100];
  for (int i = 0; i < 100; ++i) {
    numbers[i] = i;
    ASSERT_EQ(aclrtLaunchHostFunc(
                  stream, [](void* n) { order->push_back(*static_cast<int*>(n)); }, &numbers[i]),
              0);
  }
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  ASSERT_EQ(seen.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(RuntimeStream, streams_run_side_by_side) {
  const aclrtStream held = new_stream(), free = new_stream();
  Gate gate;
  gate.hold(held);
  gate.wait_for_arrival();
  EXPECT_EQ(aclrtSynchronizeStream(free), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << "nor does the default stream wait for others";
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_EQ(aclrtStreamQuery(held, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  EXPECT_EQ(aclrtStreamQuery(free, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(held), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamQuery(held, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
}

TEST_F(RuntimeStream, null_is_the_default_stream_of_the_context) {
  std::atomic<bool> ran{false};
  ASSERT_EQ(aclrtLaunchHostFunc(
                nullptr, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran),
            0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_EQ(aclrtStreamQuery(nullptr, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  expect_failure(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM, {"aclrtDestroyStream", "stream"});
  expect_failure(aclrtDestroyStreamForce(nullptr), ACL_ERROR_INVALID_PARAM, {"stream"});
  Gate gate;
  gate.hold(nullptr);
  gate.wait_for_arrival();
  in_new_thread([] {
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
    aclrtContext own = nullptr;
    EXPECT_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << "each context has its own";
    EXPECT_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
  });
}

TEST_F(RuntimeStream, priority_and_flags_are_accepted) {
  for (const uint32_t flag : {0u, ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC, 0xFFFFFFFFu}) {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 7, flag), ACL_SUCCESS) << flag;
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  }
  expect_failure(aclrtCreateStreamWithConfig(nullptr, 0, 0), ACL_ERROR_INVALID_PARAM, {"stream"});
  expect_failure(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM, {"aclrtCreateStream", "stream"});
  in_new_thread([] {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 0, 0), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(stream, nullptr);
  });
}

TEST_F(RuntimeStream, timeouts_are_minus_one_or_positive) {
  const aclrtStream stream = new_stream();
  for (const int32_t bad : {0, -2, INT32_MIN})
    expect_failure(aclrtSynchronizeStreamWithTimeout(stream, bad), ACL_ERROR_RT_PARAM_INVALID,
                   {"timeout", std::to_string(bad)});
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(nullptr, INT32_MAX), ACL_SUCCESS);
  Gate gate;
  gate.hold(stream);
  expect_failure(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                 {"aclrtSynchronizeStreamWithTimeout"});
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -1), ACL_SUCCESS);
}

TEST_F(RuntimeStream, destroy_waits_for_what_is_queued) {
  const aclrtStream stream = new_stream();
  std::atomic<int> ran{0};
  Gate gate;
  gate.hold(stream);
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(aclrtLaunchHostFunc(
                  stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran),
              0);
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 10);
  opener.join();
}

TEST_F(RuntimeStream, force_drops_what_has_not_begun_and_does_not_wait) {
  const aclrtStream stream = new_stream();
  static std::atomic<int> ran;
  ran = 0;
  Gate gate;
  gate.hold(stream);
  gate.wait_for_arrival();
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void*) { ++ran; }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);  // would never return if it waited
  gate.open();
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(ran, 0);
}

TEST_F(RuntimeStream, force_drops_also_while_another_thread_waits_for_the_stream) {
  const aclrtStream blocked = new_stream(), held = new_stream();
  const aclrtEvent event = new_event();
  Gate gate;
  gate.hold(held);
  ASSERT_EQ(aclrtRecordEvent(event, held), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(blocked, event), ACL_SUCCESS);
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_EQ(aclrtLaunchHostFunc(
                blocked, [](void*) { ran = true; }, nullptr),
            0);
  std::atomic<bool> waiting{false};
  std::thread waiter([&] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    waiting = true;
    aclrtSynchronizeStream(blocked);  // ends although the event is never reached while it waits
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  while (!waiting) std::this_thread::yield();
  EXPECT_EQ(aclrtDestroyStreamForce(blocked), ACL_SUCCESS);
  waiter.join();
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(held), ACL_SUCCESS);
  EXPECT_FALSE(ran);
}

TEST_F(RuntimeStream, a_host_function_may_end_its_thread) {
  const aclrtStream stream = new_stream();
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void*) { pthread_exit(nullptr); }, nullptr),
            0);
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void*) { ran = true; }, nullptr),
            0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeStream, signals_are_for_the_programs_threads) {
  const Variable variable("DESCEND_SYNC", "0");
  const aclrtStream stream = new_stream();
  sigset_t blocked;
  sigemptyset(&blocked);
  const auto look = [](void* set) { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(set)); };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, look, &blocked), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  for (const int signal : {SIGTERM, SIGUSR1, SIGALRM, SIGPROF}) EXPECT_TRUE(sigismember(&blocked, signal)) << signal;
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGSYS})
    EXPECT_FALSE(sigismember(&blocked, fault)) << "but its own faults";
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeStream, a_host_function_may_add_work_to_its_own_stream) {
  for (const char* synchronous : {"0", "1"}) {
    const Variable variable("DESCEND_SYNC", synchronous);
    static aclrtStream stream;
    stream = new_stream();
    static std::atomic<int> ran;
    ran = 0;
    ASSERT_EQ(aclrtLaunchHostFunc(
                  stream,
                  [](void*) {
                    const auto count = [](void*) { ++ran; };
                    for (int i = 0; i < 3; ++i) EXPECT_EQ(aclrtLaunchHostFunc(stream, count, nullptr), ACL_SUCCESS);
                  },
                  nullptr),
              ACL_SUCCESS);
    if (*synchronous == '1') {
      EXPECT_EQ(ran, 3) << "all is done when the call returns";
    }
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "for the function, that is";
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  }
}

TEST_F(RuntimeStream, functions_of_two_streams_may_add_work_to_each_other) {
  for (const char* synchronous : {"0", "1"}) {
    const Variable variable("DESCEND_SYNC", synchronous);
    static aclrtStream streams[2];
    static std::atomic<int> begun, ran;
    begun = ran = 0;
    for (aclrtStream& stream : streams) stream = new_stream();
    // Each adds to the other's stream when both run: on two threads, or the second function waits for a while in vain.
    const auto cross = [](void* other) {
      ++begun;
      for (int i = 0; i < 50 && begun < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(aclrtLaunchHostFunc(
                    other, [](void*) { ++ran; }, nullptr),
                ACL_SUCCESS);
    };
    std::thread thread([&] {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_EQ(aclrtLaunchHostFunc(streams[0], cross, streams[1]), ACL_SUCCESS);
    });
    EXPECT_EQ(aclrtLaunchHostFunc(streams[1], cross, streams[0]), ACL_SUCCESS);
    thread.join();
    // Twice: a stream may have been waited for before the other's function added to it.
    for (int i = 0; i < 2; ++i)
      for (const aclrtStream stream : streams) EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(ran, 2);
    for (const aclrtStream stream : streams) EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  }
}

// With DestroyStreamForce the end of a stream and that of memory it works on are at once.
TEST_F(RuntimeStream, memory_is_not_given_back_under_the_work_of_a_stream_that_ends) {
  constexpr size_t kBytes = 1 << 20;
  for (int i = 0; i < 100; ++i) {
    const aclrtStream stream = new_stream();
    void *memory = nullptr, *next = nullptr;
    ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtLaunchHostFunc(
                  stream, [](void*) {}, nullptr),
              ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    for (int j = 0; j < 20; ++j) ASSERT_EQ(aclrtMemsetAsync(memory, kBytes, 1, kBytes, stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
    std::this_thread::sleep_for(std::chrono::microseconds(i));
    ASSERT_EQ(aclrtFree(memory), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&next, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(next, kBytes, 2, kBytes), ACL_SUCCESS);
    std::vector<uint8_t> bytes(kBytes);
    ASSERT_EQ(aclrtMemcpy(bytes.data(), kBytes, next, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 2), static_cast<int64_t>(kBytes));
    EXPECT_EQ(aclrtFree(next), ACL_SUCCESS);
  }
}

TEST_F(RuntimeStream, destroyed_and_foreign_handles_are_recognised) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  int on_the_stack = 0;
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  const aclrtEvent event = new_event();
  for (void* bad : std::vector<void*>{stream, event, context, &on_the_stack, kRandomPointer, reinterpret_cast<void*>(1),
                                      reinterpret_cast<void*>(~uintptr_t{0})}) {
    expect_failure(aclrtSynchronizeStream(bad), ACL_ERROR_RT_INVALID_HANDLE, {"aclrtSynchronizeStream", "stream"});
    expect_failure(aclrtSynchronizeStreamWithTimeout(bad, 1), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    expect_failure(aclrtStreamQuery(bad, &status), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    expect_failure(aclrtDestroyStream(bad), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    expect_failure(aclrtDestroyStreamForce(bad), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    expect_failure(aclrtStreamWaitEvent(bad, event), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    expect_failure(aclrtRecordEvent(event, bad), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
    expect_failure(aclrtLaunchHostFunc(
                       bad, [](void*) {}, nullptr),
                   ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
  }
  expect_failure(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, {"a stream that was destroyed"});
  expect_failure(aclrtSynchronizeStream(event), ACL_ERROR_RT_INVALID_HANDLE, {"handle of an event"});
  expect_failure(aclrtSynchronizeStream(kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"no function of this library"});
  expect_failure(aclrtStreamQuery(nullptr, nullptr), ACL_ERROR_INVALID_PARAM, {"status"});
  EXPECT_NE(new_stream(), stream) << "handles are not used again";
}

TEST_F(RuntimeStream, a_stream_destroyed_by_another_thread_is_not_remembered) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  in_new_thread([&] { EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS); });
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(RuntimeStream, a_stream_of_another_context_can_only_be_waited_for) {
  const aclrtStream stream = new_stream();
  aclrtContext first = nullptr, second = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
  const aclrtEvent event = new_event();
  ASSERT_EQ(aclrtCreateContext(&second, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_SUCCESS);
  expect_failure(aclrtLaunchHostFunc(
                     stream, [](void*) {}, nullptr),
                 ACL_ERROR_RT_STREAM_CONTEXT, {"stream", "aclrtSetCurrentContext"});
  expect_failure(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CONTEXT, {"stream"});
  expect_failure(aclrtDestroyStreamForce(stream), ACL_ERROR_RT_STREAM_CONTEXT, {"stream"});
  expect_failure(aclrtRecordEvent(event, stream), ACL_ERROR_RT_STREAM_CONTEXT, {"stream"});
  expect_failure(aclrtStreamWaitEvent(stream, event), ACL_ERROR_RT_STREAM_CONTEXT, {"stream"});
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  expect_failure(aclrtMemsetAsync(memory, 8, 0, 8, stream), ACL_ERROR_RT_STREAM_CONTEXT, {"stream"});
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(second), ACL_SUCCESS);
}

TEST_F(RuntimeStream, a_thread_without_a_context_may_name_any_stream) {
  const aclrtStream stream = new_stream();
  in_new_thread([&] {
    EXPECT_EQ(aclrtLaunchHostFunc(
                  stream, [](void*) {}, nullptr),
              ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  });
}

TEST_F(RuntimeStream, waits_that_could_never_end_are_refused) {
  const aclrtStream stream = new_stream(), other = new_stream();
  static aclrtStream own, free;
  own = stream;
  free = other;
  static std::atomic<int> synchronize, with_timeout, device, destroy, reset, finalize, elsewhere;
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void*) {
                  aclrtSetDevice(0);
                  synchronize = aclrtSynchronizeStream(own);
                  with_timeout = aclrtSynchronizeStreamWithTimeout(own, 100000);
                  device = aclrtSynchronizeDevice();
                  destroy = aclrtDestroyStream(own);
                  reset = aclrtResetDevice(0);
                  finalize = aclFinalize();
                  elsewhere = aclrtSynchronizeStream(free);
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(synchronize, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(with_timeout, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(device, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(destroy, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(reset, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(finalize, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(elsewhere, ACL_SUCCESS) << "another stream may be waited for";
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS) << "it still exists";
}

TEST_F(RuntimeStream, host_functions_need_a_function_and_may_throw) {
  expect_failure(aclrtLaunchHostFunc(nullptr, nullptr, nullptr), ACL_ERROR_INVALID_PARAM,
                 {"aclrtLaunchHostFunc", "func"});
  EXPECT_EQ(aclrtLaunchHostFunc(
                nullptr, [](void*) { throw 1; }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << "an exception of the program is logged";
}

TEST_F(RuntimeStream, time_limits_of_operators_are_accepted) {
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(60), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpWaitTimeout(60), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpWaitTimeout(0), ACL_SUCCESS);
}

}  // namespace
}  // namespace descend::test
