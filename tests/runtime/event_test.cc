// SPDX-License-Identifier: MIT
// Events: what each kind allows, recording, waiting, timing.
#include "tests/harness/variable.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

class RuntimeEvent : public Started {
 protected:
  static aclrtEvent flagged(uint32_t flag) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, flag), ACL_SUCCESS) << flag << pending_error();
    return event;
  }
  static aclrtEvent ex(uint32_t flag = ACL_EVENT_SYNC) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, flag), ACL_SUCCESS) << flag << pending_error();
    return event;
  }
  static int query(aclrtEvent event) {
    aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
    EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_SUCCESS) << pending_error();
    return status;
  }
  static bool is_idle(aclrtStream stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS) << pending_error();
    return status == ACL_STREAM_STATUS_COMPLETE;
  }
  static int query_status(aclrtEvent event) {
    auto status = static_cast<aclrtEventRecordedStatus>(77);
    EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS) << pending_error();
    return status;
  }
  static int query_waits(aclrtEvent event) {
    aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
    EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS) << pending_error();
    return status;
  }
};

TEST_F(RuntimeEvent, the_two_queries_number_the_other_way_round) {
  const aclrtEvent event = new_event();
  const aclrtStream stream = new_stream();
  EXPECT_EQ(query(event), ACL_EVENT_STATUS_NOT_READY) << "never recorded";
  EXPECT_EQ(query_status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(query(event), ACL_EVENT_STATUS_NOT_READY);
  EXPECT_EQ(query_status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(query(event), ACL_EVENT_STATUS_COMPLETE);
  EXPECT_EQ(query(event), 0);
  EXPECT_EQ(query_status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(query_status(event), 1);
}

TEST_F(RuntimeEvent, record_captures_only_what_is_queued_so_far) {
  const aclrtEvent event = new_event();
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  Gate gate;
  gate.hold(stream);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(query(event), ACL_EVENT_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, an_ex_event_is_complete_before_its_first_record_and_recorded_again) {
  const aclrtEvent event = ex();
  const aclrtStream stream = new_stream();
  EXPECT_EQ(query_status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(query_status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY) << "the new record counts";
  gate.open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(query_status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, an_ex_event_has_no_reset_and_no_old_queries) {
  const aclrtEvent event = ex();
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_RESERVED;
  expect_failure(aclrtQueryEvent(event, &status), ACL_ERROR_RT_PARAM_INVALID, {"event", "aclrtQueryEventStatus"});
  expect_failure(aclrtQueryEventWaitStatus(event, &waits), ACL_ERROR_RT_PARAM_INVALID, {"event"});
  expect_failure(aclrtResetEvent(event, nullptr), ACL_ERROR_RT_PARAM_INVALID, {"event"});
  EXPECT_EQ(status, ACL_EVENT_STATUS_RESERVED);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_RESERVED);
}

TEST_F(RuntimeEvent, flags_are_checked) {
  const uint32_t all = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;
  for (const uint32_t good : {0u, ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE, ACL_EVENT_CAPTURE_STREAM_PROGRESS, all,
                              ACL_EVENT_EXTERNAL, ACL_EVENT_DEVICE_USE_ONLY}) {
    EXPECT_EQ(aclrtDestroyEvent(flagged(good)), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(ex(good)), ACL_SUCCESS);
  }
  aclrtEvent event = nullptr;
  for (const uint32_t bad : {4u, 0x80u, 0x80000000u, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC,
                             ACL_EVENT_EXTERNAL | ACL_EVENT_DEVICE_USE_ONLY, ACL_EVENT_DEVICE_USE_ONLY | all}) {
    expect_failure(aclrtCreateEventWithFlag(&event, bad), ACL_ERROR_RT_PARAM_INVALID, {"flag", std::to_string(bad)});
    expect_failure(aclrtCreateEventExWithFlag(&event, bad), ACL_ERROR_RT_PARAM_INVALID, {"flag"});
  }
  expect_failure(aclrtCreateEventWithFlag(&event, ACL_EVENT_IPC), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, {"ACL_EVENT_IPC"});
  EXPECT_EQ(event, nullptr);
}

TEST_F(RuntimeEvent, without_the_sync_flag_no_stream_waits_for_it) {
  for (const uint32_t flag : {0u, ACL_EVENT_TIME_LINE, ACL_EVENT_CAPTURE_STREAM_PROGRESS}) {
    const aclrtEvent event = flagged(flag);
    EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
    expect_failure(aclrtStreamWaitEvent(nullptr, event), ACL_ERROR_RT_PARAM_INVALID, {"event", "ACL_EVENT_SYNC"});
    expect_failure(aclrtResetEvent(event, nullptr), ACL_ERROR_RT_PARAM_INVALID, {"event", "ACL_EVENT_SYNC"});
  }
  const aclrtEvent sync = flagged(ACL_EVENT_SYNC);
  EXPECT_EQ(aclrtRecordEvent(sync, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, sync), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetEvent(sync, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, ex(0)), ACL_SUCCESS) << "an Ex event with flag 0 is used so by clients";
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, new_event()), ACL_SUCCESS) << "nothing captured, nothing to wait for";
}

TEST_F(RuntimeEvent, reset_puts_it_back_in_stream_order) {
  const aclrtEvent event = flagged(ACL_EVENT_SYNC);
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtResetEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(query(event), ACL_EVENT_STATUS_COMPLETE) << "not yet";
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(query(event), ACL_EVENT_STATUS_NOT_READY) << "as before its first record";
  expect_failure(aclrtResetEvent(new_event(), stream), ACL_ERROR_RT_PARAM_INVALID,
                 {"event", "aclrtCreateEventWithFlag"});
}

TEST_F(RuntimeEvent, a_stream_waits_for_what_the_event_captured) {
  const aclrtStream first = new_stream(), second = new_stream();
  const aclrtEvent event = new_event();
  std::atomic<bool> before{false}, seen{false};
  static std::atomic<bool>*first_done, *second_saw;
  first_done = &before;
  second_saw = &seen;
  Gate gate;
  gate.hold(first);
  ASSERT_EQ(aclrtLaunchHostFunc(
                first, [](void*) { *first_done = true; }, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(
                second, [](void*) { *second_saw = first_done->load(); }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(query_waits(event), ACL_EVENT_WAIT_STATUS_NOT_READY);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS) << "does not wait, and the waits keep their point";
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_TRUE(seen);
}

TEST_F(RuntimeEvent, a_host_function_may_let_another_stream_wait_for_what_is_behind_it) {
  for (const char* synchronous : {"0", "1"}) {
    const Variable variable("DESCEND_SYNC", synchronous);
    static aclrtStream first, second;
    static aclrtEvent event;
    first = new_stream(), second = new_stream();
    event = flagged(ACL_EVENT_SYNC);
    static std::atomic<bool> over;
    over = false;
    ASSERT_EQ(aclrtLaunchHostFunc(
                  first,
                  [](void*) {
                    EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
                    EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
                    EXPECT_EQ(aclrtLaunchHostFunc(
                                  second, [](void*) { EXPECT_TRUE(over); }, nullptr),
                              ACL_SUCCESS);
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                    over = true;
                  },
                  nullptr),
              ACL_SUCCESS);
    for (const aclrtStream stream : {first, second}) EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_TRUE(over);
    EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    for (const aclrtStream stream : {first, second}) EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  }
}

TEST_F(RuntimeEvent, a_host_function_does_not_wait_for_what_is_behind_it) {
  static aclrtStream stream, other;
  static aclrtEvent before, behind, elsewhere;
  stream = new_stream(), other = new_stream();
  before = flagged(ACL_EVENT_SYNC), behind = flagged(ACL_EVENT_SYNC), elsewhere = flagged(ACL_EVENT_SYNC);
  ASSERT_EQ(aclrtRecordEvent(before, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void*) {
                  EXPECT_EQ(aclrtRecordEvent(behind, stream), ACL_SUCCESS);
                  EXPECT_EQ(aclrtSynchronizeEvent(behind), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
                  EXPECT_NE(pending_error().find("a host function must not wait for the stream that runs it"),
                            std::string::npos);
                  EXPECT_EQ(aclrtSynchronizeEvent(before), ACL_SUCCESS);
                  EXPECT_EQ(aclrtRecordEvent(elsewhere, other), ACL_SUCCESS);
                  EXPECT_EQ(aclrtSynchronizeEvent(elsewhere), ACL_SUCCESS);
                },
                nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(behind), ACL_SUCCESS);
  for (const aclrtEvent event : {before, behind, elsewhere}) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  for (const aclrtStream each : {stream, other}) EXPECT_EQ(aclrtDestroyStream(each), ACL_SUCCESS);
}

TEST_F(RuntimeEvent, waits_are_complete_when_no_stream_waits) {
  const aclrtStream first = new_stream(), second = new_stream();
  const aclrtEvent event = new_event();
  EXPECT_EQ(query_waits(event), ACL_EVENT_WAIT_STATUS_COMPLETE);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(query_waits(event), ACL_EVENT_WAIT_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, a_wait_longer_than_the_limit_is_a_failure_of_the_stream) {
  const aclrtStream first = new_stream(), second = new_stream();
  const aclrtEvent event = new_event();
  ASSERT_EQ(aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  Gate gate;
  gate.hold(first);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  expect_failure(aclrtSynchronizeStream(second), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, {"aclrtSynchronizeStream"});
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(first), ACL_SUCCESS);
}

TEST_F(RuntimeEvent, one_recorded_on_a_stream_that_has_stopped_is_reached) {
  const aclrtStream held = new_stream(), stream = new_stream(), other = new_stream();
  const aclrtEvent never = new_event(), event = new_event();
  ASSERT_EQ(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  Gate gate;
  gate.hold(held);
  ASSERT_EQ(aclrtRecordEvent(never, held), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, never), ACL_SUCCESS);
  while (!is_idle(stream)) std::this_thread::yield();  // it has failed then
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 60000), ACL_SUCCESS) << pending_error();
  ASSERT_EQ(aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other, 60000), ACL_SUCCESS) << pending_error();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
}

TEST_F(RuntimeEvent, synchronising_has_a_timeout) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS) << "never recorded: nothing to wait for";
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -1), ACL_SUCCESS);
  for (const int32_t bad : {0, -2})
    expect_failure(aclrtSynchronizeEventWithTimeout(event, bad), ACL_ERROR_RT_PARAM_INVALID,
                   {"timeout", std::to_string(bad)});
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  expect_failure(aclrtSynchronizeEventWithTimeout(event, 1), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                 {"aclrtSynchronizeEventWithTimeout"});
  gate.open();
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 5), ACL_SUCCESS);
}

TEST_F(RuntimeEvent, elapsed_time_needs_two_reached_events) {
  const aclrtStream stream = new_stream();
  const aclrtEvent start = flagged(0), end = new_event();
  float ms = -1;
  expect_failure(aclrtEventElapsedTime(nullptr, start, end), ACL_ERROR_INVALID_PARAM, {"ms"});
  expect_failure(aclrtEventElapsedTime(&ms, nullptr, end), ACL_ERROR_INVALID_PARAM, {"startEvent"});
  expect_failure(aclrtEventElapsedTime(&ms, start, nullptr), ACL_ERROR_INVALID_PARAM, {"endEvent"});
  expect_failure(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_INTERNAL_ERROR, {"startEvent", "recorded"});
  ASSERT_EQ(aclrtRecordEvent(start, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeEvent(start), ACL_SUCCESS);
  expect_failure(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_INTERNAL_ERROR, {"endEvent", "recorded"});
  Gate gate;
  gate.hold(stream);
  ASSERT_EQ(aclrtRecordEvent(end, stream), ACL_SUCCESS);
  expect_failure(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, {"endEvent"});
  EXPECT_EQ(ms, -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS) << "every event carries a time stamp";
  EXPECT_GE(ms, 1.0f) << "the gate was closed for 2 milliseconds in between";
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, start), ACL_SUCCESS);
  EXPECT_EQ(ms, 0.0f);
  expect_failure(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, {"endEvent"});
}

TEST_F(RuntimeEvent, null_destroyed_and_foreign_handles_are_recognised) {
  const aclrtEvent event = new_event();
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  const aclrtStream stream = new_stream();
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  auto recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_RESERVED;
  float ms = 0;
  const aclrtEvent good = new_event();
  for (const auto& [bad, code] : std::vector<std::pair<void*, int>>{{nullptr, ACL_ERROR_INVALID_PARAM},
                                                                    {event, ACL_ERROR_RT_INVALID_HANDLE},
                                                                    {stream, ACL_ERROR_RT_INVALID_HANDLE},
                                                                    {kRandomPointer, ACL_ERROR_RT_INVALID_HANDLE}}) {
    expect_failure(aclrtDestroyEvent(bad), code, {"aclrtDestroyEvent", "event"});
    expect_failure(aclrtRecordEvent(bad, stream), code, {"event"});
    expect_failure(aclrtResetEvent(bad, stream), code, {"event"});
    expect_failure(aclrtStreamWaitEvent(stream, bad), code, {"event"});
    expect_failure(aclrtQueryEvent(bad, &status), code, {"event"});
    expect_failure(aclrtQueryEventStatus(bad, &recorded), code, {"event"});
    expect_failure(aclrtQueryEventWaitStatus(bad, &waits), code, {"event"});
    expect_failure(aclrtSynchronizeEvent(bad), code, {"event"});
    expect_failure(aclrtSynchronizeEventWithTimeout(bad, 1), code, {"event"});
    expect_failure(aclrtEventElapsedTime(&ms, bad, good), code, {"startEvent"});
    expect_failure(aclrtEventElapsedTime(&ms, good, bad), code, {"endEvent"});
  }
  expect_failure(aclrtQueryEvent(good, nullptr), ACL_ERROR_INVALID_PARAM, {"status"});
  expect_failure(aclrtQueryEventStatus(good, nullptr), ACL_ERROR_INVALID_PARAM, {"status"});
  expect_failure(aclrtQueryEventWaitStatus(good, nullptr), ACL_ERROR_INVALID_PARAM, {"status"});
  expect_failure(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM, {"event"});
  expect_failure(aclrtCreateEventWithFlag(nullptr, 1), ACL_ERROR_INVALID_PARAM, {"event"});
  expect_failure(aclrtCreateEventExWithFlag(nullptr, 1), ACL_ERROR_INVALID_PARAM, {"event"});
}

TEST_F(RuntimeEvent, making_one_needs_a_context) {
  in_new_thread([] {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(event, nullptr);
  });
}

TEST_F(RuntimeEvent, an_event_outlives_the_stream_it_was_recorded_on) {
  const aclrtEvent event = new_event();
  const aclrtStream stream = new_stream();
  Gate gate;
  gate.hold(stream);
  gate.wait_for_arrival();
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

}  // namespace
}  // namespace descend::test
