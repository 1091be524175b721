// SPDX-License-Identifier: MIT
// Starting and ending the runtime, its configuration file, versions.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "tests/harness/variable.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeInit = Fresh;

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) {
    char name[] = "/tmp/descend_config_XXXXXX";
    close(mkstemp(name));
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

TEST_F(RuntimeInit, null_an_empty_path_and_an_empty_object_mean_the_defaults) {
  const ConfigFile empty_object("{}");
  for (const char* path : {static_cast<const char*>(nullptr), "", empty_object.path()}) {
    EXPECT_EQ(aclInit(path), ACL_SUCCESS) << pending_error();
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
}

TEST_F(RuntimeInit, a_file_nested_without_end_is_no_configuration) {
  for (const char* key : {"err_msg_mode", "op_debug_config", "defaultDevice"}) {
    const ConfigFile deep(std::string("{\"") + key + "\":" + std::string(100000, '[') + std::string(100000, ']') + "}");
    expect_failure(aclInit(deep.path()), ACL_ERROR_PARSE_FILE, {"aclInit", "configPath"});
  }
}

TEST_F(RuntimeInit, finalize_lets_go_of_callbacks_that_streams_of_other_contexts_wait_for) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  aclrtEvent event = nullptr;
  // The first context's stream holds a callback that nobody will come to run; the others' streams wait for it.
  for (int i = 0; i < 6; ++i) {
    aclrtContext context = nullptr;
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    if (i == 0) {
      ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
      ASSERT_EQ(aclrtSubscribeReport(12345, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
    } else {
      ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
    }
  }
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(RuntimeInit, a_second_init_adds_a_reference_and_one_finalize_ends_all) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  expect_failure(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE, {"aclInit", "reference 2"});
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  expect_failure(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE, {"aclFinalize"});
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeInit, references_are_given_back_one_by_one) {
  uint64_t left = 77;
  expect_failure(aclFinalizeReference(&left), ACL_ERROR_REPEAT_FINALIZE, {"aclFinalizeReference"});
  EXPECT_EQ(left, 77u);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 1u);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS) << "nothing ends while a reference is left";
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclFinalizeReference(nullptr), ACL_ERROR_REPEAT_FINALIZE);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalizeReference(nullptr), ACL_SUCCESS) << "refCount may be null";
}

TEST_F(RuntimeInit, a_bad_file_has_its_code_and_leaves_the_runtime_as_it_was) {
  expect_failure(aclInit("/nowhere/at/all.json"), ACL_ERROR_INVALID_FILE, {"configPath", "/nowhere/at/all.json"});
  expect_failure(aclInit("/tmp"), ACL_ERROR_INVALID_FILE, {"configPath", "/tmp"});
  for (const char* text : {"not json", "{\"a\": ", "[1, 2]", ""}) {
    const ConfigFile bad(text);
    expect_failure(aclInit(bad.path()), ACL_ERROR_PARSE_FILE, {"configPath", bad.path()});
  }
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeInit, keys_that_are_not_known_are_ignored) {
  const ConfigFile file(R"({"dump": {"dump_mode": "all"}, "profiler": 3})");
  EXPECT_EQ(aclInit(file.path()), ACL_SUCCESS) << pending_error();
}

TEST_F(RuntimeInit, known_keys_with_bad_values_are_refused) {
  for (const char* text :
       {R"({"err_msg_mode": "2"})", R"({"err_msg_mode": []})", R"({"defaultDevice": 0})",
        R"({"defaultDevice": {"default_device": "x"}})", R"({"defaultDevice": {}})",
        R"({"defaultDevice": {"default_device": -1}})", R"({"defaultDevice": {"default_device": 99999999999}})"}) {
    const ConfigFile file(text);
    expect_failure(aclInit(file.path()), ACL_ERROR_FILE_ATTR_INVALID, {"aclInit", "must satisfy"});
  }
  const ConfigFile no_such_device(R"({"defaultDevice": {"default_device": "7777"}})");
  expect_failure(aclInit(no_such_device.path()), ACL_ERROR_RT_INVALID_DEVICEID, {"default_device", "7777"});
}

TEST_F(RuntimeInit, one_text_for_the_process_if_the_file_says_so) {
  const auto fail_elsewhere = [] {
    in_new_thread([] { EXPECT_EQ(aclrtSetDevice(-5), ACL_ERROR_RT_INVALID_DEVICEID); });
  };
  for (const char* shared : {R"({"err_msg_mode": "1"})", R"({"err_msg_mode": 1})"}) {
    const ConfigFile file(shared);
    ASSERT_EQ(aclInit(file.path()), ACL_SUCCESS);
    fail_elsewhere();
    EXPECT_NE(pending_error().find("aclrtSetDevice"), std::string::npos);
    ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  const ConfigFile own(R"({"err_msg_mode": "0"})");
  ASSERT_EQ(aclInit(own.path()), ACL_SUCCESS);
  fail_elsewhere();
  EXPECT_EQ(pending_error(), "");
}

TEST_F(RuntimeInit, a_default_device_serves_threads_that_set_none) {
  for (const char* text :
       {R"({"defaultDevice": {"default_device": "0"}})", R"({"defaultDevice": {"default_device": 0}})"}) {
    const ConfigFile file(text);
    ASSERT_EQ(aclInit(file.path()), ACL_SUCCESS) << pending_error();
    in_new_thread([] {
      int32_t device = -1;
      EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
      EXPECT_EQ(device, 0);
      aclrtStream stream = nullptr;
      EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    });
    ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL) << "gone with aclFinalize";
  }
}

TEST_F(RuntimeInit, an_unknown_product_is_a_clear_error) {
  {
    const VariableAtInit soc("DESCEND_SOC", "Ascend12345");
    expect_failure(aclInit(nullptr), ACL_ERROR_RT_SOC_VERSION, {"DESCEND_SOC", "Ascend12345", "Ascend910B"});
    EXPECT_EQ(aclrtGetSocName(), nullptr);
  }
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeInit, the_product_is_read_again_by_each_first_init) {
  const char* first = nullptr;
  {
    const VariableAtInit soc("DESCEND_SOC", "Ascend310P3");
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << pending_error();
    first = aclrtGetSocName();
    EXPECT_STREQ(first, "Ascend310P3");
    ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  const VariableAtInit soc("DESCEND_SOC", "Ascend910B1");
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B1");
  EXPECT_STREQ(first, "Ascend310P3") << "a text once given stays";
}

TEST_F(RuntimeInit, a_device_that_is_not_there_is_a_clear_error) {
  const VariableAtInit device("DESCEND_DEVICE", "no_such_backend");
  expect_failure(aclInit(nullptr), ACL_ERROR_RT_NO_DEVICE, {"DESCEND_DEVICE", "no_such_backend", "cpu"});
  uint32_t count = 7;
  expect_failure(aclrtGetDeviceCount(&count), ACL_ERROR_RT_NO_DEVICE, {"no_such_backend"});
  EXPECT_EQ(count, 7u);
  expect_failure(aclrtSetDevice(0), ACL_ERROR_RT_NO_DEVICE, {"no_such_backend"});
}

TEST_F(RuntimeInit, hidden_devices_cannot_be_set) {
  const VariableAtInit visible("ASCEND_RT_VISIBLE_DEVICES", "");
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << pending_error();
  uint32_t count = 7;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 0u);
  expect_failure(aclrtSetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID, {"deviceId", "ASCEND_RT_VISIBLE_DEVICES"});
}

// The other thread sees the device or does not; it never takes one that is not in the list any more.
TEST_F(RuntimeInit, contexts_are_made_while_another_thread_hides_and_shows_the_devices) {
  const VariableAtInit quiet("ASCEND_GLOBAL_LOG_LEVEL", "4");
  std::atomic<bool> enough{false};
  std::thread other([&] {
    while (!enough) {
      aclrtContext context = nullptr;
      const aclError made = aclrtCreateContext(&context, 0);
      EXPECT_TRUE(made == ACL_SUCCESS || made == ACL_ERROR_RT_INVALID_DEVICEID) << made;
      if (made == ACL_SUCCESS) aclrtDestroyContext(context);  // unless aclFinalize was first
    }
  });
  for (int round = 0; round < 10000; ++round) {
    const VariableAtInit visible("ASCEND_RT_VISIBLE_DEVICES", round % 2 == 0 ? "0" : "");
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  enough = true;
  other.join();
}

TEST_F(RuntimeInit, calls_before_init_work) {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST_F(RuntimeInit, finalize_ends_contexts_and_streams_and_leaves_memory) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemset(memory, 4, 7, 4), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  ASSERT_EQ(aclFinalize(), ACL_SUCCESS);

  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetCurrentContext(own), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
  int64_t option = -1;
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &option), ACL_SUCCESS);
  EXPECT_EQ(option, 0);

  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  unsigned char bytes[4] = {};
  EXPECT_EQ(aclrtMemcpy(bytes, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(bytes[3], 7);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(RuntimeInit, finalize_waits_for_queued_work) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Gate gate;
  gate.hold(stream);
  std::atomic<bool> ran{false};
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran),
            0);
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  opener.join();
}

TEST_F(RuntimeInit, the_interface_version_is_1_15_0) {
  int32_t major = -1, minor = -1, patch = -1;
  EXPECT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_EQ(major, 1);
  EXPECT_EQ(minor, 15);
  EXPECT_EQ(patch, 0);
  expect_failure(aclrtGetVersion(nullptr, &minor, &patch), ACL_ERROR_INVALID_PARAM,
                 {"aclrtGetVersion", "majorVersion"});
  expect_failure(aclrtGetVersion(&major, nullptr, &patch), ACL_ERROR_INVALID_PARAM, {"minorVersion"});
  expect_failure(aclrtGetVersion(&major, &minor, nullptr), ACL_ERROR_INVALID_PARAM, {"patchVersion"});
}

}  // namespace
}  // namespace descend::test
