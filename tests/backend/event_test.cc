// SPDX-License-Identifier: MIT
// Events of the cpu device.
#include <atomic>
#include <thread>

#include "tests/backend/support.h"

namespace descend {
namespace {

struct BackendEvent : testing::Test {
  const ChangedEnvironment asynchronous{{"DESCEND_SYNC", nullptr}};
  Device& device = cpu_device();
  std::unique_ptr<Stream> stream = device.make_stream();
  std::unique_ptr<Event> event = device.make_event();
};

TEST_F(BackendEvent, an_event_that_captured_nothing_is_reached_and_not_recorded) {
  EXPECT_FALSE(event->recorded());
  EXPECT_TRUE(event->reached());
  EXPECT_TRUE(event->waits_done());
  EXPECT_TRUE(event->synchronize(kForEver).ok());
  EXPECT_TRUE(stream->wait(*event, kForEver).ok());
  EXPECT_TRUE(stream->idle());
}

TEST_F(BackendEvent, an_event_is_reached_when_what_was_submitted_before_is_done) {
  Gate gate;
  hold(*stream, gate);
  ASSERT_TRUE(stream->record(*event).ok());
  EXPECT_TRUE(event->recorded());
  EXPECT_FALSE(event->reached());
  EXPECT_EQ(event->synchronize(milliseconds(5)).code(), Code::kEventTimeout);
  gate.open();
  EXPECT_TRUE(event->synchronize(kForEver).ok());
  EXPECT_TRUE(event->reached());
}

TEST_F(BackendEvent, an_event_of_an_idle_stream_is_reached_at_once) {
  ASSERT_TRUE(stream->record(*event).ok());
  EXPECT_TRUE(event->recorded());
  EXPECT_TRUE(event->reached());
}

TEST_F(BackendEvent, another_stream_waits_for_it) {
  Gate gate;
  int value = 0;
  hold(*stream, gate);
  ASSERT_TRUE(stream->submit([&] { return value = 1, Status{}; }).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  const auto other = device.make_stream();
  int seen = -1;
  ASSERT_TRUE(other->wait(*event, kForEver).ok());
  ASSERT_TRUE(other->submit([&] { return seen = value, Status{}; }).ok());
  EXPECT_FALSE(event->waits_done());
  EXPECT_FALSE(other->idle());
  gate.open();
  ASSERT_TRUE(other->synchronize(kForEver).ok());
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(event->waits_done());
}

TEST_F(BackendEvent, a_wait_keeps_the_point_it_saw_when_the_event_is_recorded_again) {
  Gate first, second;
  hold(*stream, first);
  ASSERT_TRUE(stream->record(*event).ok());
  const auto waiting = device.make_stream(), later = device.make_stream();
  ASSERT_TRUE(waiting->wait(*event, kForEver).ok());
  hold(*later, second);
  ASSERT_TRUE(later->record(*event).ok());
  first.open();
  EXPECT_TRUE(waiting->synchronize(kForEver).ok()) << "it does not wait for the second gate";
  EXPECT_FALSE(event->reached());
  second.open();
  EXPECT_TRUE(event->synchronize(kForEver).ok());
}

TEST_F(BackendEvent, a_wait_outlives_the_event) {
  Gate gate;
  hold(*stream, gate);
  ASSERT_TRUE(stream->record(*event).ok());
  const auto other = device.make_stream();
  ASSERT_TRUE(other->wait(*event, kForEver).ok());
  event.reset();
  EXPECT_FALSE(other->idle());
  gate.open();
  EXPECT_TRUE(other->synchronize(kForEver).ok());
}

TEST_F(BackendEvent, a_wait_that_takes_too_long_fails_the_stream_and_lets_it_go_on) {
  Gate gate;
  hold(*stream, gate);
  ASSERT_TRUE(stream->record(*event).ok());
  const auto other = device.make_stream();
  bool ran = false;
  ASSERT_TRUE(other->wait(*event, milliseconds(5)).ok());
  ASSERT_TRUE(other->submit([&] { return ran = true, Status{}; }).ok());
  EXPECT_EQ(other->synchronize(kForEver).code(), Code::kEventTimeout);
  EXPECT_TRUE(ran);
  EXPECT_TRUE(event->waits_done());
  gate.open();
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

TEST_F(BackendEvent, reset_takes_effect_in_stream_order) {
  Gate gate;
  ASSERT_TRUE(stream->record(*event).ok());
  hold(*stream, gate);
  ASSERT_TRUE(stream->reset(*event).ok());
  EXPECT_TRUE(event->recorded());
  gate.open();
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_FALSE(event->recorded());
  ASSERT_TRUE(stream->record(*event).ok());
  ASSERT_TRUE(stream->reset(*event).ok());
  EXPECT_FALSE(event->recorded()) << "an idle stream resets at once";
}

TEST_F(BackendEvent, reset_leaves_an_event_that_was_recorded_again) {
  Gate gate;
  ASSERT_TRUE(stream->record(*event).ok());
  hold(*stream, gate);
  ASSERT_TRUE(stream->reset(*event).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  gate.open();
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  EXPECT_TRUE(event->recorded());
  EXPECT_TRUE(event->reached());
}

TEST_F(BackendEvent, milliseconds_are_those_between_the_two_points) {
  const auto end = device.make_event();
  ASSERT_TRUE(stream->record(*event).ok());
  ASSERT_TRUE(stream->call_host([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }).ok());
  ASSERT_TRUE(stream->record(*end).ok());
  ASSERT_TRUE(end->synchronize(kForEver).ok());
  EXPECT_GE(end->milliseconds_since(*event), 20.0);
  EXPECT_EQ(end->milliseconds_since(*event), -event->milliseconds_since(*end));
}

TEST_F(BackendEvent, many_streams_wait_for_one_event_and_one_waits_for_many) {
  Gate gate;
  hold(*stream, gate);
  int value = 0;
  ASSERT_TRUE(stream->submit([&] { return value = 1, Status{}; }).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  constexpr int kStreams = 20;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<int> seen(kStreams, 0);
  const auto last = device.make_stream();
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(device.make_stream());
    events.push_back(device.make_event());
    ASSERT_TRUE(streams[i]->wait(*event, kForEver).ok());
    ASSERT_TRUE(streams[i]->submit([&, i] { return seen[i] = value, Status{}; }).ok());
    ASSERT_TRUE(streams[i]->record(*events[i]).ok());
    ASSERT_TRUE(last->wait(*events[i], kForEver).ok());
  }
  gate.open();
  ASSERT_TRUE(last->synchronize(kForEver).ok());
  EXPECT_EQ(seen, std::vector<int>(kStreams, 1));
}

TEST_F(BackendEvent, threads_record_and_wait_for_one_event_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto own = device.make_stream();
      for (int i = 0; i < 300; ++i) {
        EXPECT_TRUE(own->submit([] { return Status{}; }).ok());
        EXPECT_TRUE(own->record(*event).ok());
        EXPECT_TRUE(own->wait(*event, kForEver).ok());
        if (i % 10 == 0) {
          EXPECT_TRUE(own->reset(*event).ok());
        }
      }
      EXPECT_TRUE(own->synchronize(kForEver).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(event->synchronize(kForEver).ok());
  EXPECT_TRUE(event->waits_done());
}

}  // namespace
}  // namespace descend
