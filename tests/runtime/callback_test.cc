// SPDX-License-Identifier: MIT
// Callbacks that a thread of the program runs in the order of a stream.
#include <pthread.h>

#include <atomic>
#include <future>

#include "tests/harness/variable.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

// A thread as programs make one: it processes reports until it is told to stop.
class Processor {
 public:
  Processor() {
    thread_ = std::thread([this] {
      id_.set_value(static_cast<uint64_t>(pthread_self()));
      begin_.get_future().wait();
      while (!stop_) {
        const aclError result = aclrtProcessReport(5);
        if (result == ACL_ERROR_RT_THREAD_SUBSCRIBE) std::this_thread::yield();
      }
    });
    subscriber_ = id_.get_future().get();
  }
  ~Processor() {
    stop_ = true;
    begin();
    thread_.join();
  }
  uint64_t id() const { return subscriber_; }
  void begin() {
    if (!std::exchange(begun_, true)) begin_.set_value();
  }

 private:
  std::promise<uint64_t> id_;
  std::promise<void> begin_;
  bool begun_ = false;
  std::atomic<bool> stop_{false};
  uint64_t subscriber_ = 0;
  std::thread thread_;
};

uint64_t this_thread() { return static_cast<uint64_t>(pthread_self()); }

using RuntimeCallback = Started;

TEST_F(RuntimeCallback, a_thread_may_run_its_own_blocking_callback_also_where_calls_are_synchronous) {
  const Variable variable("DESCEND_SYNC", "1");
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  static std::atomic<int> before, after;
  before = after = 0;
  ASSERT_EQ(aclrtLaunchCallback(count, &before, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  // What is behind it is not waited for, either.
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void*) { after = before + 10; }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(after, 0);
  EXPECT_EQ(aclrtProcessReport(60'000), ACL_SUCCESS);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(after, 11);
  // Later work is done when its call returns.
  ASSERT_EQ(aclrtLaunchHostFunc(stream, count, &after), ACL_SUCCESS);
  EXPECT_EQ(after, 12);
  EXPECT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, a_function_of_a_synchronous_process_may_launch_a_callback_for_the_thread_that_waits_for_it) {
  const Variable variable("DESCEND_SYNC", "1");
  static aclrtStream stream;
  stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  static std::atomic<int> ran;
  ran = 0;
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void*) {
                  EXPECT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
                  EXPECT_EQ(aclrtLaunchHostFunc(stream, count, &ran), ACL_SUCCESS);
                },
                nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(60'000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, a_blocking_callback_holds_later_work) {
  const aclrtStream stream = new_stream();
  Processor processor;
  ASSERT_EQ(aclrtSubscribeReport(processor.id(), stream), ACL_SUCCESS);
  static std::atomic<int> before, after;
  before = after = 0;
  ASSERT_EQ(aclrtLaunchCallback(count, &before, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void*) { after = before + 10; }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) << "nobody runs it yet";
  processor.begin();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(after, 11);
  EXPECT_EQ(aclrtUnSubscribeReport(processor.id(), stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, a_callback_that_does_not_block_lets_later_work_run) {
  const aclrtStream stream = new_stream();
  Processor processor;
  ASSERT_EQ(aclrtSubscribeReport(processor.id(), stream), ACL_SUCCESS);
  std::atomic<int> ran{0};
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 0);
  processor.begin();
  while (ran == 0) std::this_thread::yield();
  EXPECT_EQ(aclrtUnSubscribeReport(processor.id(), stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, the_subscribed_thread_runs_it_and_no_other) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  static std::atomic<uint64_t> by;
  by = 0;
  ASSERT_EQ(aclrtLaunchCallback([](void*) { by = this_thread(); }, nullptr, ACL_CALLBACK_NO_BLOCK, stream),
            ACL_SUCCESS);
  in_new_thread([] {
    expect_failure(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE,
                   {"aclrtProcessReport", "aclrtSubscribeReport"});
  });
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(by, this_thread());
}

TEST_F(RuntimeCallback, what_comes_to_a_thread_while_it_ends_its_subscription_is_run_by_the_next_processing) {
  static aclrtStream stream;
  static std::atomic<int> ran;
  stream = new_stream();
  ran = 0;
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  const auto launch_another_and_leave = [](void*) {
    EXPECT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);  // it is with this thread now
    EXPECT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  };
  ASSERT_EQ(aclrtLaunchCallback(launch_another_and_leave, nullptr, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(aclrtProcessReport(1), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
  expect_failure(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE, {});
}

TEST_F(RuntimeCallback, processing_has_a_timeout) {
  for (const int32_t bad : {0, -2})
    expect_failure(aclrtProcessReport(bad), ACL_ERROR_INVALID_PARAM, {"timeout", std::to_string(bad)});
  expect_failure(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE, {});
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  expect_failure(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT, {"aclrtProcessReport"});
  std::atomic<int> ran{0};
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(60000), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, wrong_arguments_have_their_codes) {
  const aclrtStream stream = new_stream();
  expect_failure(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, stream), ACL_ERROR_INVALID_PARAM, {"fn"});
  expect_failure(aclrtLaunchCallback(count, nullptr, static_cast<aclrtCallbackBlockType>(2), stream),
                 ACL_ERROR_INVALID_PARAM, {"blockType", "2"});
  expect_failure(aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_BLOCK, stream), ACL_ERROR_RT_STREAM_NO_CB_REG,
                 {"stream", "aclrtSubscribeReport"});
  expect_failure(aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_BLOCK, kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE,
                 {"stream"});
  expect_failure(aclrtSubscribeReport(1, kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
  expect_failure(aclrtUnSubscribeReport(1, kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
  expect_failure(aclrtUnSubscribeReport(1, stream), ACL_ERROR_RT_STREAM_NO_CB_REG, {"stream"});
  ASSERT_EQ(aclrtSubscribeReport(1, stream), ACL_SUCCESS);
  expect_failure(aclrtSubscribeReport(2, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE, {"stream", "1"});
  expect_failure(aclrtSubscribeReport(1, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE, {"stream"});
  expect_failure(aclrtUnSubscribeReport(2, stream), ACL_ERROR_RT_THREAD_SUBSCRIBE, {"threadId", "2"});
  EXPECT_EQ(aclrtUnSubscribeReport(1, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(2, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(2, stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, several_streams_share_a_thread_and_null_is_the_default_stream) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), nullptr), ACL_SUCCESS);
  std::atomic<int> ran{0};
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, nullptr), ACL_SUCCESS);
  while (ran < 2) EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT) << "still subscribed to the other";
  EXPECT_EQ(aclrtUnSubscribeReport(this_thread(), nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(RuntimeCallback, at_most_1024_threads_are_subscribed) {
  std::vector<aclrtStream> streams;
  for (uint64_t thread = 1; thread <= 1024; ++thread) {
    streams.push_back(new_stream());
    ASSERT_EQ(aclrtSubscribeReport(thread, streams.back()), ACL_SUCCESS);
  }
  const aclrtStream one_more = new_stream();
  expect_failure(aclrtSubscribeReport(1025, one_more), ACL_ERROR_RT_OVER_LIMIT, {"threadId", "1024"});
  EXPECT_EQ(aclrtSubscribeReport(1024, one_more), ACL_SUCCESS) << "a further stream for a known thread";
  EXPECT_EQ(aclrtDestroyStream(streams.front()), ACL_SUCCESS);
  const aclrtStream last = new_stream();
  EXPECT_EQ(aclrtSubscribeReport(1025, last), ACL_SUCCESS) << "the destroyed stream left room";
}

TEST_F(RuntimeCallback, unsubscribing_wakes_the_thread_and_releases_the_stream) {
  const aclrtStream stream = new_stream();
  std::promise<uint64_t> id;
  aclError result = -1;
  std::thread waiting([&] {
    id.set_value(this_thread());
    do {
      result = aclrtProcessReport(-1);
    } while (result == ACL_SUCCESS);
  });
  const uint64_t thread = id.get_future().get();
  // The thread may look before it is subscribed; then it has ended with the same answer.
  ASSERT_EQ(aclrtSubscribeReport(thread, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(thread, stream), ACL_SUCCESS);
  waiting.join();
  EXPECT_EQ(result, ACL_ERROR_RT_THREAD_SUBSCRIBE);

  ASSERT_EQ(aclrtSubscribeReport(1, stream), ACL_SUCCESS);
  static std::atomic<int> ran;
  ran = 0;
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(1, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "does not wait for a thread it no longer has";
  EXPECT_EQ(ran, 0);
}

TEST_F(RuntimeCallback, a_callback_that_does_not_block_outlives_its_subscription) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  std::atomic<int> ran{0};
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(RuntimeCallback, none_runs_after_its_stream_was_ended_by_force) {
  const aclrtStream stream = new_stream();
  std::atomic<int> ran{0};
  for (const bool unsubscribes : {false, true}) {
    const aclrtStream ended = new_stream();
    for (const aclrtStream each : {stream, ended}) {
      ASSERT_EQ(aclrtSubscribeReport(this_thread(), each), ACL_SUCCESS);
      ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_NO_BLOCK, each), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(each), ACL_SUCCESS);
    }
    if (unsubscribes) {
      ASSERT_EQ(aclrtUnSubscribeReport(this_thread(), ended), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtDestroyStreamForce(ended), ACL_SUCCESS);
    ran = 0;
    EXPECT_EQ(aclrtProcessReport(1), ACL_SUCCESS);
    EXPECT_EQ(ran, 1);  // that of the other stream
    ASSERT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(RuntimeCallback, a_thread_that_never_comes_does_not_hold_up_the_end) {
  std::atomic<int> ran{0};
  const aclrtStream forced = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(1, forced), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, forced), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(forced), ACL_SUCCESS);

  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(2, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(ran, 0);
}

TEST_F(RuntimeCallback, the_subscribed_thread_cannot_wait_for_its_own_callbacks) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  std::atomic<int> ran{0};
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  expect_failure(aclrtSynchronizeStream(stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"aclrtProcessReport"});
  expect_failure(aclrtSynchronizeDevice(), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"aclrtProcessReport"});
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS) << "drops it instead of waiting for ever";
}

TEST_F(RuntimeCallback, the_subscribed_thread_waits_for_events_before_its_callbacks_only) {
  const aclrtStream stream = new_stream();
  const aclrtEvent before = new_event(), behind = new_event();
  ASSERT_EQ(aclrtSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  static std::atomic<int> ran;
  ran = 0;
  static std::atomic<bool> open;
  open = false;
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void*) {
                  while (!open) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(before, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(behind, stream), ACL_SUCCESS);
  expect_failure(aclrtSynchronizeEvent(behind), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"callback", "aclrtProcessReport"});
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    open = true;
  });
  EXPECT_EQ(aclrtSynchronizeEvent(before), ACL_SUCCESS);
  opener.join();
  EXPECT_EQ(aclrtProcessReport(60'000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(behind), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtUnSubscribeReport(this_thread(), stream), ACL_SUCCESS);
  for (const aclrtEvent event : {before, behind}) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, destroying_waits_for_callbacks_that_a_thread_runs) {
  const aclrtStream stream = new_stream();
  Processor processor;
  ASSERT_EQ(aclrtSubscribeReport(processor.id(), stream), ACL_SUCCESS);
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  processor.begin();
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 20);
}

TEST_F(RuntimeCallback, a_callback_may_use_the_runtime) {
  const aclrtStream stream = new_stream();
  Processor processor;
  processor.begin();
  ASSERT_EQ(aclrtSubscribeReport(processor.id(), stream), ACL_SUCCESS);
  static aclrtStream own;
  own = stream;
  static std::atomic<int> allocated, waited;
  allocated = waited = -1;
  ASSERT_EQ(aclrtLaunchCallback(
                [](void*) {
                  aclrtSetDevice(0);
                  void* memory = nullptr;
                  allocated = aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
                  aclrtFree(memory);
                  waited = aclrtSynchronizeStream(own);
                  aclrtResetDevice(0);
                },
                nullptr, ACL_CALLBACK_BLOCK, stream),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(allocated, ACL_SUCCESS);
  EXPECT_EQ(waited, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

}  // namespace
}  // namespace descend::test
