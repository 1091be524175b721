// SPDX-License-Identifier: MIT
// Which devices a process sees, and which plug-ins it takes.
#include "src/device/backends.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "src/base/text.h"
#include "tests/backend/support.h"

namespace descend {
namespace {

// The devices with these variables, as "name:index" words; a failure as its message and solution.
std::string devices(const char* device, const char* visible = nullptr, const char* path = DESCEND_TEST_PLUGINS) {
  const ChangedEnvironment changed{
      {"DESCEND_DEVICE", device}, {"ASCEND_RT_VISIBLE_DEVICES", visible}, {"DESCEND_BACKEND_PATH", path}};
  const VisibleDevices& found = visible_devices();
  if (!found.status.ok()) {
    EXPECT_EQ(found.status.code(), Code::kInvalidDeviceId);
    EXPECT_TRUE(found.entries.empty());
    return cat(found.status.message(), " ", found.status.solution());
  }
  std::string text;
  for (const DeviceEntry& entry : found.entries) {
    EXPECT_EQ(entry.device, &entry.backend->device(entry.index_in_backend));
    text += cat(text.empty() ? "" : " ", entry.backend->name(), ":", entry.index_in_backend);
  }
  return text;
}

testing::AssertionResult says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) == std::string::npos) return testing::AssertionFailure() << "no '" << part << "' in: " << text;
  }
  return testing::AssertionSuccess();
}

TEST(BackendChoice, built_in_backends_have_one_device_each) {
  EXPECT_EQ(devices("cpu"), "cpu:0");
  EXPECT_EQ(devices("cpu:0"), "cpu:0");
  EXPECT_EQ(devices("reference"), "reference:0");
}

TEST(BackendChoice, the_reference_backend_has_no_kernels_and_says_so) {
  const ChangedEnvironment changed{{"DESCEND_DEVICE", "reference"}, {"ASCEND_RT_VISIBLE_DEVICES", nullptr}};
  const DeviceEntry entry = visible_devices().entries.at(0);
  EXPECT_TRUE(entry.backend->runs_reference());
  EXPECT_NE(entry.device, &cpu_device());
  const auto stream = entry.device->make_stream();
  EXPECT_TRUE(stream->submit([] { return Status{}; }).ok());
  EXPECT_TRUE(stream->synchronize(kForEver).ok());
}

TEST(BackendChoice, the_choice_follows_the_environment) {
  const VisibleDevices* first = nullptr;
  {
    const ChangedEnvironment changed{{"DESCEND_DEVICE", "reference"}};
    first = &visible_devices();
    choose_devices_again();
    EXPECT_EQ(&visible_devices(), first) << "the same choice is the same object";
  }
  EXPECT_EQ(devices("cpu"), "cpu:0");
  EXPECT_EQ(first->entries.at(0).backend->name(), "reference") << "what was handed out stays";
}

TEST(BackendChoice, a_plug_ins_devices_become_visible) {
  EXPECT_EQ(devices("fake"), "fake:0 fake:1");
  EXPECT_EQ(devices("fake:1"), "fake:1");
  EXPECT_EQ(devices("fake", nullptr, "/nowhere::" DESCEND_TEST_PLUGINS ":"), "fake:0 fake:1");
  const ChangedEnvironment changed{{"DESCEND_DEVICE", "fake"}, {"ASCEND_RT_VISIBLE_DEVICES", nullptr}};
  Device& device = *visible_devices().entries.at(1).device;
  EXPECT_EQ(device.description(), "device 1 of the fake plug-in");
  int ran = 0;
  EXPECT_TRUE(device.make_stream()->submit([&] { return ++ran, Status{}; }).ok());
  EXPECT_EQ(ran, 1);
}

TEST(BackendChoice, visible_devices_are_selected_in_the_order_asked_for) {
  EXPECT_EQ(devices("fake", "1"), "fake:1");
  EXPECT_EQ(devices("fake", "1,0"), "fake:1 fake:0");
  EXPECT_EQ(devices("fake", " 1 , 0 "), "fake:1 fake:0");
  EXPECT_EQ(devices("fake", ""), "");
  EXPECT_EQ(devices("cpu", "0"), "cpu:0");
}

TEST(BackendChoice, an_index_that_is_none_or_comes_twice_ends_the_list) {
  for (const char* list : {"1,7,0", "1,-1,0", "1,x,0", "1,1,0", "1,,0", "1,99999999999,0", "1,0x0"})
    EXPECT_EQ(devices("fake", list), "fake:1") << list;
  EXPECT_EQ(devices("cpu", "1,0"), "");
}

TEST(BackendChoice, a_device_that_is_not_there_is_a_failure_that_says_what_is) {
  EXPECT_TRUE(says(devices("nonesuch"), {"DESCEND_DEVICE", "'nonesuch'", "libdescend_nonesuch.so", DESCEND_TEST_PLUGINS,
                                         "auto, cpu, reference"}));
  EXPECT_TRUE(says(devices("fake:2"), {"'fake:2'", "from 0 to 1"}));
  EXPECT_TRUE(says(devices("cpu:1"), {"'cpu:1'", "from 0 to 0"}));
  EXPECT_TRUE(says(devices("cpu:"), {"'cpu:'"}));
  EXPECT_TRUE(says(devices("cpu:x"), {"'cpu:x'"}));
  EXPECT_TRUE(says(devices("../fake"), {"'../fake'", "small letters"}));
  EXPECT_TRUE(says(devices(":0"), {"':0'", "small letters"}));
}

TEST(BackendChoice, a_plug_in_of_another_engine_is_refused_with_its_reason) {
  EXPECT_TRUE(
      says(devices("outdated"), {"libdescend_outdated.so refuses: it was built for interface 1 and the engine has"}));
}

TEST(BackendChoice, a_library_that_is_no_plug_in_is_refused) {
  EXPECT_TRUE(says(devices("mute"), {"libdescend_mute.so is not a plug-in", "descend_backend"}));
  EXPECT_TRUE(says(devices("misnamed"), {"libdescend_misnamed.so is the plug-in of another device: somebody_else"}));
}

TEST(BackendChoice, a_file_that_is_no_library_is_refused) {
  char folder[] = "/tmp/descend_test_XXXXXX";  // nobody else's: the suite may run beside itself
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/libdescend_broken.so";
  std::ofstream(file) << "not a library";
  EXPECT_TRUE(says(devices("broken", nullptr, folder), {"libdescend_broken.so cannot be loaded"}));
  std::remove(file.c_str());
  rmdir(folder);
}

TEST(BackendChoice, without_being_asked_a_missing_plug_in_is_no_failure) {
  const std::string found = devices("auto");
  EXPECT_TRUE(found.starts_with("cpu:0") || found.starts_with("cuda:0")) << found;
  EXPECT_EQ(devices(nullptr), found);
}

}  // namespace
}  // namespace descend
