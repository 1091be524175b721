// SPDX-License-Identifier: MIT
// Contexts, and the options of contexts and of the process.
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeContext = Started;
using RuntimeOptions = Started;

TEST_F(RuntimeContext, a_new_context_is_current_and_has_streams_of_its_own) {
  aclrtContext before = nullptr, made = nullptr, now = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  const aclrtStream of_default = new_stream();
  ASSERT_EQ(aclrtCreateContext(&made, 0), ACL_SUCCESS);
  EXPECT_NE(made, before);
  EXPECT_EQ(aclrtGetCurrentContext(&now), ACL_SUCCESS);
  EXPECT_EQ(now, made);
  const aclrtStream stream = new_stream();
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_SUCCESS);
  expect_failure(aclrtGetCurrentContext(&now), ACL_ERROR_RT_CONTEXT_NULL, {"aclrtGetCurrentContext"});
  expect_failure(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, {"stream", "destroyed"});
  EXPECT_EQ(aclrtSynchronizeStream(of_default), ACL_SUCCESS);
}

TEST_F(RuntimeContext, wrong_arguments_have_their_codes) {
  aclrtContext context = nullptr;
  expect_failure(aclrtCreateContext(nullptr, 0), ACL_ERROR_INVALID_PARAM, {"context"});
  expect_failure(aclrtCreateContext(&context, -1), ACL_ERROR_RT_INVALID_DEVICEID, {"deviceId", "-1"});
  EXPECT_EQ(context, nullptr);
  expect_failure(aclrtDestroyContext(nullptr), ACL_ERROR_INVALID_PARAM, {"context"});
  expect_failure(aclrtSetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM, {"context"});
  expect_failure(aclrtGetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM, {"context"});
  expect_failure(aclrtDestroyContext(kRandomPointer), ACL_ERROR_RT_INVALID_HANDLE, {"context", "0x1234567890"});
  expect_failure(aclrtSetCurrentContext(kRandomPointer), ACL_ERROR_RT_PARAM_INVALID, {"context", "0x1234567890"});
  expect_failure(aclrtSetCurrentContext(new_stream()), ACL_ERROR_RT_PARAM_INVALID, {"context", "stream"});
}

TEST_F(RuntimeContext, the_default_context_cannot_be_destroyed) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  expect_failure(aclrtDestroyContext(context), ACL_ERROR_RT_CONTEXT_NULL, {"context", "aclrtResetDevice"});
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeContext, a_dead_context_is_recognised) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  expect_failure(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE, {"context", "destroyed"});
  expect_failure(aclrtSetCurrentContext(context), ACL_ERROR_RT_PARAM_INVALID, {"context", "destroyed"});
}

TEST_F(RuntimeContext, a_context_destroyed_elsewhere_leaves_its_threads_without_one) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  in_new_thread([&] { EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS); });
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
}

TEST_F(RuntimeContext, destroying_waits_for_its_work) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  std::atomic<bool> ran{false};
  Gate gate;
  gate.hold(new_stream());
  gate.hold(nullptr);
  ASSERT_EQ(aclrtLaunchHostFunc(
                nullptr, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran),
            0);
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  opener.join();
}

TEST_F(RuntimeContext, the_current_context_is_the_threads_own_and_the_last_call_wins) {
  aclrtContext shared = nullptr, own = nullptr, now = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&shared), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
  in_new_thread([&] {
    aclrtContext mine = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&mine), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetCurrentContext(own), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetCurrentContext(shared), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetCurrentContext(&mine), ACL_SUCCESS);
    EXPECT_EQ(mine, shared);
  });
  EXPECT_EQ(aclrtGetCurrentContext(&now), ACL_SUCCESS);
  EXPECT_EQ(now, own);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << "drops the thread's own context";
  EXPECT_EQ(aclrtGetCurrentContext(&now), ACL_SUCCESS);
  EXPECT_EQ(now, shared);
  EXPECT_EQ(aclrtSetCurrentContext(own), ACL_SUCCESS) << "it still exists";
  EXPECT_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
}

TEST_F(RuntimeOptions, a_context_has_no_option_until_one_is_set) {
  int64_t value = 77;
  expect_failure(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, {"opt", "0"});
  EXPECT_EQ(value, 77);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 3) << "the last one wins";
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0) << "the process's option is another one";
  aclrtContext other = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
}

TEST_F(RuntimeOptions, a_contexts_options_need_a_context) {
  in_new_thread([] {
    int64_t value = 0;
    EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(RuntimeOptions, the_processs_options_need_none_and_begin_at_0) {
  in_new_thread([] {
    int64_t value = 77;
    EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value), ACL_SUCCESS);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 1), ACL_SUCCESS);
  });
  int64_t value = 0;
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
}

TEST_F(RuntimeOptions, options_and_values_out_of_range_are_refused) {
  int64_t value = 0;
  for (const int bad : {-1, 3}) {
    const auto option = static_cast<aclSysParamOpt>(bad);
    expect_failure(aclrtSetSysParamOpt(option, 0), ACL_ERROR_INVALID_PARAM, {"opt", std::to_string(bad)});
    expect_failure(aclrtGetSysParamOpt(option, &value), ACL_ERROR_INVALID_PARAM, {"opt"});
    expect_failure(aclrtCtxSetSysParamOpt(option, 0), ACL_ERROR_INVALID_PARAM, {"opt"});
    expect_failure(aclrtCtxGetSysParamOpt(option, &value), ACL_ERROR_INVALID_PARAM, {"opt"});
  }
  for (const auto set : {aclrtSetSysParamOpt, aclrtCtxSetSysParamOpt}) {
    for (int64_t good = 0; good <= 3; ++good) EXPECT_EQ(set(ACL_OPT_DETERMINISTIC, good), ACL_SUCCESS);
    expect_failure(set(ACL_OPT_DETERMINISTIC, 4), ACL_ERROR_RT_PARAM_INVALID, {"value", "4"});
    expect_failure(set(ACL_OPT_DETERMINISTIC, -1), ACL_ERROR_RT_PARAM_INVALID, {"value", "-1"});
    expect_failure(set(ACL_OPT_ENABLE_DEBUG_KERNEL, 2), ACL_ERROR_RT_PARAM_INVALID, {"value", "2"});
    expect_failure(set(ACL_OPT_STRONG_CONSISTENCY, 2), ACL_ERROR_RT_PARAM_INVALID, {"value", "2"});
  }
  expect_failure(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM, {"value"});
  expect_failure(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM, {"value"});
}

}  // namespace
}  // namespace descend::test
