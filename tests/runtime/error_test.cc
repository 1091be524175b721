// SPDX-License-Identifier: MIT
// The texts and codes that failures leave, and the callback for failures on a device.
#include <pthread.h>

#include <atomic>
#include <thread>

#include "src/runtime/context.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeError = Started;

TEST_F(RuntimeError, a_text_is_read_once_and_the_newest_comes_first) {
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM);
  const std::string text = pending_error();
  const size_t older = text.find("aclrtFree:"), newer = text.find("aclrtFreeHost:");
  ASSERT_NE(older, std::string::npos) << text;
  ASSERT_NE(newer, std::string::npos) << text;
  EXPECT_LT(newer, older);
  EXPECT_NE(text.find("Invalid_Argument(EH0001)"), std::string::npos) << text;
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(RuntimeError, the_text_is_the_threads_own) {
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  in_new_thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); });
  EXPECT_NE(pending_error(), "");
}

TEST_F(RuntimeError, a_thread_without_a_context_is_told_what_to_do) {
  in_new_thread([] {
    aclrtStream stream = nullptr;
    expect_failure(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL, {"aclrtCreateStream", "aclrtSetDevice"});
  });
}

TEST_F(RuntimeError, the_last_code_is_kept_until_it_is_taken) {
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS) << "a success does not change it";
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  in_new_thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); });
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST_F(RuntimeError, only_the_threads_level_is_known) {
  const auto level = static_cast<aclrtLastErrLevel>(1);
  expect_failure(aclrtPeekAtLastError(level), ACL_ERROR_INVALID_PARAM, {"aclrtPeekAtLastError", "level", "1"});
  expect_failure(aclrtGetLastError(level), ACL_ERROR_INVALID_PARAM, {"aclrtGetLastError", "level", "1"});
}

// ---- Failures on a stream ----

// Work that fails, submitted as the operators' second phase submits it.
void submit_failure(aclrtStream stream, const char* text, Code code = Code::kKernelFailed) {
  const FoundStream found = find_stream(stream);
  ASSERT_TRUE(found.status.ok());
  const Status submitted = found.object->stream->submit([=] { return Status(code, text); });
  ASSERT_TRUE(submitted.ok());
}

TEST_F(RuntimeError, a_failure_appears_at_the_next_synchronisation_once) {
  const aclrtStream stream = new_stream();
  submit_failure(stream, "aclnnThing: it broke");
  expect_failure(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION,
                 {"aclrtSynchronizeStream", "aclnnThing: it broke"});
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  submit_failure(stream, "again");
  expect_failure(aclrtSynchronizeDevice(), ACL_ERROR_RT_AICORE_EXCEPTION, {"aclrtSynchronizeDevice", "again"});
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeError, whatever_code_the_work_had_synchronisation_returns_a_runtime_one) {
  submit_failure(nullptr, "odd", Code::kInner);
  expect_failure(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION, {"odd", "561000"});
  submit_failure(nullptr, "slow", Code::kKernelTimeout);
  expect_failure(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_TIMEOUT, {"slow"});
}

TEST_F(RuntimeError, a_copy_that_waits_leaves_the_failure_for_the_synchronisation) {
  submit_failure(nullptr, "kept");
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  char bytes[8] = {};
  EXPECT_EQ(aclrtMemcpyAsync(memory, 8, bytes, 8, ACL_MEMCPY_HOST_TO_DEVICE, nullptr), ACL_SUCCESS);
  expect_failure(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION, {"kept"});
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

std::atomic<uint32_t> seen_task, seen_stream, seen_thread, seen_device, seen_code, calls, waited;
void remember(aclrtExceptionInfo* info) {
  seen_task = aclrtGetTaskIdFromExceptionInfo(info);
  seen_stream = aclrtGetStreamIdFromExceptionInfo(info);
  seen_thread = aclrtGetThreadIdFromExceptionInfo(info);
  seen_device = aclrtGetDeviceIdFromExceptionInfo(info);
  seen_code = aclrtGetErrorCodeFromExceptionInfo(info);
  waited = static_cast<uint32_t>(aclrtSynchronizeDevice());
  ++calls;
}
std::atomic<uint32_t> other_calls;

TEST_F(RuntimeError, the_exception_callback_is_told_and_the_last_one_wins) {
  const aclrtStream stream = new_stream();
  calls = other_calls = 0;
  ASSERT_EQ(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo*) { ++other_calls; }), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(remember), ACL_SUCCESS);
  submit_failure(stream, "told");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(other_calls, 0u);
  EXPECT_EQ(seen_code, uint32_t{ACL_ERROR_RT_AICORE_EXCEPTION});
  EXPECT_EQ(seen_device, 0u);
  EXPECT_NE(seen_task, 0xFFFFFFFFu);
  EXPECT_EQ(seen_stream, find_stream(stream).object->id);
  EXPECT_NE(seen_thread, 0u);
  EXPECT_NE(waited, 0u) << "a wait that could never end is refused";

  ASSERT_EQ(aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  submit_failure(stream, "not told");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(calls, 1u);
}

TEST_F(RuntimeError, the_exception_callback_may_end_its_thread) {
  const aclrtStream stream = new_stream();
  ASSERT_EQ(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo*) { pthread_exit(nullptr); }), ACL_SUCCESS);
  submit_failure(stream, "the stream's thread");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  std::thread caller([&] {
    const auto fail = [] { return Status(Code::kKernelFailed, "a caller's thread"); };
    if (!find_stream(stream).object->stream->try_run(fail, 8)) submit_failure(stream, "in turn");
  });
  caller.join();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  static std::atomic<int> ran;
  ran = 0;
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void*) { ++ran; }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeError, the_exception_callback_is_told_of_a_wait_that_takes_too_long) {
  const aclrtStream stream = new_stream(), other = new_stream();
  static std::atomic<bool> open;
  open = false;
  calls = 0;
  ASSERT_EQ(aclrtSetExceptionInfoCallback(remember), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(
                other,
                [](void*) {
                  while (!open) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, other), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  open = true;
  EXPECT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(seen_code, uint32_t{ACL_ERROR_RT_EVENT_SYNC_TIMEOUT});
  EXPECT_EQ(seen_stream, find_stream(stream).object->id);
  ASSERT_EQ(aclrtSetOpWaitTimeout(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(RuntimeError, a_null_record_says_nothing) {
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetStreamIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetThreadIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetDeviceIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetErrorCodeFromExceptionInfo(nullptr), 0xFFFFFFFFu);
}

// Whether work after a failure runs, with the failing work still held back when it is queued.
bool goes_on_after_failure(aclrtStream stream) {
  std::atomic<bool> ran{false};
  Gate gate;
  gate.hold(stream);
  submit_failure(stream, "stop?");
  EXPECT_EQ(aclrtLaunchHostFunc(
                stream, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran),
            0);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  return ran;
}

TEST_F(RuntimeError, a_stream_goes_on_after_a_failure_unless_told_otherwise) {
  const aclrtStream stream = new_stream(), other = new_stream();
  EXPECT_TRUE(goes_on_after_failure(stream));
  ASSERT_EQ(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  EXPECT_FALSE(goes_on_after_failure(stream));
  EXPECT_FALSE(goes_on_after_failure(other)) << "the mode is the whole context's";
  EXPECT_FALSE(goes_on_after_failure(new_stream())) << "also of streams made later";
  std::atomic<bool> ran{false};
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran),
            0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(ran) << "after the synchronisation it runs again";
}

TEST_F(RuntimeError, the_failure_mode_is_chosen_once_a_stream) {
  const aclrtStream stream = new_stream();
  expect_failure(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID, {"mode", "2"});
  EXPECT_EQ(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE), ACL_SUCCESS);
  expect_failure(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID, {"stream"});
  EXPECT_TRUE(goes_on_after_failure(stream));
  EXPECT_EQ(aclrtSetStreamFailureMode(nullptr, ACL_CONTINUE_ON_FAILURE), ACL_SUCCESS);
  expect_failure(aclrtSetStreamFailureMode(kRandomPointer, 0), ACL_ERROR_RT_INVALID_HANDLE, {"stream"});
}

}  // namespace
}  // namespace descend::test
