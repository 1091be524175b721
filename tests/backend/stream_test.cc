// SPDX-License-Identifier: MIT
// Streams of the cpu device: order, concurrency, failures and what happens at their end.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/backend/support.h"

namespace descend {
namespace {

struct BackendStream : testing::Test {
  const ChangedEnvironment asynchronous{{"DESCEND_SYNC", nullptr}};
  Device& device = cpu_device();
  std::unique_ptr<Stream> stream = device.make_stream();
};

constexpr uint64_t kSmall = 64;
constexpr uint64_t kBig = 1 << 20;
const auto nothing = [] { return Status{}; };
Status failure(Code code, const char* text) { return {code, text}; }

TEST_F(BackendStream, work_runs_in_the_order_of_submission) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    const auto work = [&order, i] { return order.push_back(i), Status{}; };
    if (i % 3 != 0 || !stream->try_run(work, kSmall)) {
      ASSERT_TRUE(stream->submit(work).ok());
    }
  }
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST_F(BackendStream, streams_do_not_wait_for_each_other) {
  Gate gate;
  const auto other = device.make_stream();
  hold(*stream, gate);
  ASSERT_TRUE(other->call_host([&] { gate.open(); }).ok());
  EXPECT_TRUE(other->synchronize(kForEver).ok());
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

TEST_F(BackendStream, an_idle_stream_runs_small_work_on_the_callers_thread) {
  std::thread::id ran_on;
  EXPECT_TRUE(stream->try_run([&] { return ran_on = std::this_thread::get_id(), Status{}; }, kSmall));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_TRUE(stream->idle());
}

TEST_F(BackendStream, big_work_and_a_busy_stream_are_not_for_the_callers_thread) {
  EXPECT_FALSE(stream->try_run(nothing, kBig));
  Gate gate;
  hold(*stream, gate);
  EXPECT_FALSE(stream->try_run(nothing, kSmall));
  EXPECT_FALSE(stream->idle());
  gate.open();
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_TRUE(stream->idle());
  EXPECT_TRUE(stream->try_run(nothing, kSmall));
}

TEST_F(BackendStream, host_functions_never_run_on_the_callers_thread) {
  std::thread::id ran_on;
  ASSERT_TRUE(stream->call_host([&] { ran_on = std::this_thread::get_id(); }).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_NE(ran_on, std::thread::id{});
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST_F(BackendStream, work_submitted_during_a_run_on_a_callers_thread_comes_after_it) {
  Gate gate;
  std::vector<int> order;
  std::thread caller([&] {
    EXPECT_TRUE(stream->try_run(
        [&] {
          gate.pass();
          order.push_back(1);
          return Status{};
        },
        kSmall));
  });
  gate.wait_until_somebody_waits();
  ASSERT_TRUE(stream->submit([&] { return order.push_back(2), Status{}; }).ok());
  EXPECT_FALSE(stream->try_run([&] { return order.push_back(3), Status{}; }, kSmall));
  gate.open();
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  caller.join();
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST_F(BackendStream, order_holds_when_many_threads_run_and_submit) {
  constexpr int kThreads = 4, kEach = 3000;
  std::vector<int> last(kThreads, -1);
  int total = 0;  // not atomic: only one piece of work may run at a time
  bool in_order = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto work = [&, t, i] {
          ++total;
          in_order = in_order && last[t] == i - 1;
          last[t] = i;
          return Status{};
        };
        if (!stream->try_run(work, kSmall)) {
          EXPECT_TRUE(stream->submit(work).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_EQ(total, kThreads * kEach);
  EXPECT_TRUE(in_order);
}

TEST_F(BackendStream, the_first_failure_is_returned_once_with_its_code_and_text) {
  ASSERT_TRUE(stream->submit([] { return failure(Code::kKernelFailed, "first"); }).ok());
  ASSERT_TRUE(stream->submit([] { return failure(Code::kKernelTimeout, "second"); }).ok());
  const Status status = stream->synchronize(kForEver);
  EXPECT_EQ(status.code(), Code::kKernelFailed);
  EXPECT_EQ(status.message(), "first");
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

TEST_F(BackendStream, a_failure_on_the_callers_thread_is_kept_too) {
  EXPECT_TRUE(stream->try_run([] { return failure(Code::kKernelFailed, "here"); }, kSmall));
  EXPECT_EQ(stream->synchronize(kForEver).message(), "here");
}

TEST_F(BackendStream, exceptions_become_failures) {
  ASSERT_TRUE(stream->submit([]() -> Status { throw std::runtime_error("odd"); }).ok());
  const Status status = stream->synchronize(kForEver);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("odd"), std::string::npos);
  EXPECT_TRUE(stream->try_run([]() -> Status { throw std::bad_alloc(); }, kSmall));
  EXPECT_EQ(stream->synchronize(kForEver).code(), Code::kOutOfMemory);
  ASSERT_TRUE(stream->call_host([] { throw 7; }).ok());
  EXPECT_EQ(stream->synchronize(kForEver).code(), Code::kInternal);
}

TEST_F(BackendStream, work_after_a_failure_runs_unless_the_stream_stops_on_failure) {
  for (const bool stop : {false, true}) {
    stream->stop_on_failure(stop);
    int ran = 0;
    const auto count = [&] { return ++ran, Status{}; };
    ASSERT_TRUE(stream->submit([] { return failure(Code::kKernelFailed, "it"); }).ok());
    ASSERT_TRUE(stream->submit(count).ok());
    EXPECT_EQ(stream->synchronize(kForEver).code(), Code::kKernelFailed);
    EXPECT_EQ(ran, stop ? 0 : 1);
    ASSERT_TRUE(stream->submit(count).ok());
    EXPECT_TRUE(stream->synchronize(kForEver).ok());
    EXPECT_EQ(ran, stop ? 1 : 2) << "a synchronised stream goes on";
  }
}

TEST_F(BackendStream, a_stopped_stream_drops_work_on_the_callers_thread_too) {
  stream->stop_on_failure(true);
  bool ran = false;
  EXPECT_TRUE(stream->try_run([] { return failure(Code::kKernelFailed, "it"); }, kSmall));
  EXPECT_TRUE(stream->try_run([&] { return ran = true, Status{}; }, kSmall));
  EXPECT_FALSE(ran);
  EXPECT_FALSE(stream->synchronize(kForEver).ok());
}

TEST_F(BackendStream, synchronize_gives_up_in_time_and_keeps_the_failure_for_later) {
  Gate gate;
  ASSERT_TRUE(stream->submit([] { return failure(Code::kKernelFailed, "it"); }).ok());
  hold(*stream, gate);
  EXPECT_EQ(stream->synchronize(milliseconds(5)).code(), Code::kStreamTimeout);
  gate.open();
  EXPECT_EQ(stream->synchronize(milliseconds(60'000)).code(), Code::kKernelFailed);
}

// Work that keeps adding work: the stream is never idle, and a wait for that would not end.
TEST_F(BackendStream, synchronize_does_not_wait_for_what_comes_later) {
  std::atomic<bool> enough{false};
  std::function<Status()> again = [&] { return enough ? Status{} : stream->submit(again); };
  ASSERT_TRUE(stream->submit(again).ok());
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_FALSE(stream->idle());
  enough = true;
  while (!stream->idle()) EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

TEST_F(BackendStream, work_that_waits_for_its_own_stream_fails_instead_of_hanging) {
  Status inside;
  ASSERT_TRUE(stream->call_host([&] { inside = stream->synchronize(kForEver); }).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_EQ(inside.code(), Code::kInternal);
}

TEST_F(BackendStream, work_may_add_work_to_its_own_stream) {
  bool ran = false;
  ASSERT_TRUE(stream->call_host([&] { EXPECT_TRUE(stream->submit([&] { return ran = true, Status{}; }).ok()); }).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());  // the first may have come before the added work
  EXPECT_TRUE(ran);
}

TEST_F(BackendStream, the_end_of_a_stream_drops_what_has_not_begun_and_leaves_what_runs) {
  auto gate = std::make_shared<Gate>();
  auto finished = std::make_shared<Gate>();
  const auto dropped = std::make_shared<std::atomic<bool>>(false);
  ASSERT_TRUE(stream
                  ->call_host([=] {
                    gate->pass();
                    finished->pass();
                  })
                  .ok());
  gate->wait_until_somebody_waits();
  ASSERT_TRUE(stream->submit([=] { return dropped->store(true), Status{}; }).ok());
  const auto event = device.make_event();
  ASSERT_TRUE(stream->record(*event).ok());
  stream.reset();  // does not wait, or this would hang
  EXPECT_FALSE(event->reached()) << "what was captured still runs";
  gate->open();
  finished->wait_until_somebody_waits();
  finished->open();
  EXPECT_TRUE(event->synchronize(kForEver).ok()) << "nobody may wait for ever for a stream that is gone";
  EXPECT_FALSE(*dropped);
}

TEST_F(BackendStream, the_end_of_a_stream_ends_its_waits) {
  Gate gate;
  hold(*stream, gate);
  const auto event = device.make_event();
  ASSERT_TRUE(stream->record(*event).ok());
  auto waiting = device.make_stream();
  const auto after = device.make_event();
  ASSERT_TRUE(waiting->wait(*event, kForEver).ok());
  ASSERT_TRUE(waiting->record(*after).ok());
  EXPECT_FALSE(event->waits_done());
  // Time for the thread to fall asleep in the wait, which is the harder case; earlier it is right too.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  waiting.reset();
  EXPECT_TRUE(after->synchronize(kForEver).ok());
  EXPECT_TRUE(event->waits_done());
  EXPECT_FALSE(event->reached());
  gate.open();
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

#ifdef __SANITIZE_THREAD__
constexpr int kManyStreams = 100;  // its runtime has room for no more threads on aarch64
#else
constexpr int kManyStreams = 500;
#endif

TEST_F(BackendStream, five_hundred_streams_work_at_once) {
  std::vector<std::unique_ptr<Stream>> streams;
  std::atomic<int> ran{0};
  for (int i = 0; i < kManyStreams; ++i) streams.push_back(device.make_stream());
  for (int round = 0; round < 3; ++round) {
    for (const auto& each : streams) ASSERT_TRUE(each->submit([&] { return ++ran, Status{}; }).ok());
  }
  for (const auto& each : streams) EXPECT_TRUE(each->synchronize(kForEver).ok());
  EXPECT_EQ(ran, 3 * kManyStreams);
}

TEST_F(BackendStream, copies_and_fills_follow_the_order) {
  constexpr size_t kBytes = 9 << 20;  // several chunks of the parallel copy
  std::vector<uint8_t> a(kBytes, 1), b(kBytes, 2), c(kBytes, 3);
  ASSERT_TRUE(stream->fill(a.data(), 7, kBytes).ok());
  ASSERT_TRUE(stream->copy(b.data(), a.data(), kBytes).ok());
  ASSERT_TRUE(stream->fill(a.data(), 8, 100).ok());
  ASSERT_TRUE(stream->copy(c.data(), a.data(), 200).ok());
  ASSERT_TRUE(stream->copy(c.data(), nullptr, 0).ok());
  ASSERT_TRUE(stream->fill(nullptr, 1, 0).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_EQ(b, std::vector<uint8_t>(kBytes, 7));
  EXPECT_EQ(c[99], 8);
  EXPECT_EQ(c[199], 7);
  EXPECT_EQ(c[200], 3);
}

TEST_F(BackendStream, overlapping_copies_are_as_if_the_source_was_read_first) {
  constexpr size_t kBytes = 6 << 20;
  std::vector<uint8_t> bytes(kBytes + 1);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 >> 8);
  const std::vector<uint8_t> before = bytes;
  ASSERT_TRUE(stream->copy(bytes.data() + 1, bytes.data(), kBytes).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_TRUE(std::equal(bytes.begin() + 1, bytes.end(), before.begin()));
}

TEST_F(BackendStream, a_synchronous_process_runs_everything_on_the_callers_thread) {
  const ChangedEnvironment synchronous{{"DESCEND_SYNC", "1"}};
  const auto here = std::this_thread::get_id();
  std::vector<std::thread::id> ran_on;
  const auto note = [&] { return ran_on.push_back(std::this_thread::get_id()), Status{}; };
  EXPECT_TRUE(stream->try_run(note, kBig));
  ASSERT_TRUE(stream->submit(note).ok());
  ASSERT_TRUE(stream->call_host([&] { (void)note(); }).ok());
  EXPECT_EQ(ran_on, (std::vector{here, here, here}));
  // Work that adds work: done when the outer call returns.
  ASSERT_TRUE(stream->call_host([&] { ASSERT_TRUE(stream->submit(note).ok()); }).ok());
  EXPECT_EQ(ran_on.size(), 4u);
  EXPECT_TRUE(stream->try_run([&] { return stream->submit(note); }, kSmall));
  EXPECT_EQ(ran_on.size(), 5u);
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

TEST_F(BackendStream, threads_of_a_synchronous_process_take_turns) {
  const ChangedEnvironment synchronous{{"DESCEND_SYNC", "1"}};
  int total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) EXPECT_TRUE(stream->submit([&] { return ++total, Status{}; }).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 2000);
}

TEST_F(BackendStream, a_host_function_of_a_synchronous_process_may_end_its_thread) {
  const ChangedEnvironment synchronous{{"DESCEND_SYNC", "1"}};
  for (const bool after_other_work : {false, true}) {
    int ran = 0;
    std::thread ending([&] {
      const auto add_and_end = [&] {
        EXPECT_TRUE(stream->submit([&] { return ++ran, Status{}; }).ok());
        pthread_exit(nullptr);
      };
      if (after_other_work)
        stream->try_run([&] { return stream->call_host(add_and_end); }, kSmall);
      else
        (void)stream->call_host(add_and_end);
      ADD_FAILURE() << "the thread should have ended";
    });
    ending.join();
    ASSERT_TRUE(stream->synchronize(milliseconds(60'000)).ok()) << "what was added is left to another thread";
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(stream->submit([&] { return ++ran, Status{}; }).ok());
    EXPECT_EQ(ran, 2) << "and later work is done when the call returns";
    stream = device.make_stream();  // one without a thread
  }
}

}  // namespace
}  // namespace descend
