// SPDX-License-Identifier: MIT
// A checker of a test's own, which is told what a program does.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "src/backends/cpu/device.h"
#include "src/check/checker.h"

namespace descend::test {

// A checker whose findings are lines of a file.
class CheckChecker : public testing::Test {
 protected:
  explicit CheckChecker(Device& device)
      : file_(testing::TempDir() + "findings_" + std::to_string(getpid()) + "_" +
              std::to_string(reinterpret_cast<uintptr_t>(this))),
        device_(device),
        reporter_("", file_),
        checker_(reporter_) {}
  CheckChecker() : CheckChecker(host()) {}
  ~CheckChecker() override {
    for (const Allocation& each : freed_) device_.free(each.memory);
    std::remove(file_.c_str());
  }

  // The host's memory, whatever device the other tests are on.
  static Device& host() {
    static CpuDevice& device = *new CpuDevice("cpu");
    return device;
  }
  Allocation allocate(size_t bytes) {
    Allocation made;
    made.memory = made.begin = static_cast<std::byte*>(device_.allocate(bytes + 64));
    made.bytes = bytes + 64;
    made.asked = bytes;
    made.device = &device_;
    checker_.allocated(made);
    return made;
  }
  void free(const Allocation& memory) {
    checker_.freeing(memory);
    const std::lock_guard lock(mutex_);
    freed_.push_back(memory);
  }
  static Use use(const char* name, const Allocation& memory, bool written) {
    Use made{name, {}, !written, written, true};
    made.view.dtype = DataType::kUint8;
    made.view.shape = {static_cast<int64_t>(memory.asked)};
    made.view.strides = {1};
    made.view.data = memory.begin;
    return made;
  }
  Status run(uint32_t stream, const std::vector<Use>& uses) {
    const StreamInfo info{stream, 0, &device_, nullptr};
    return checker_.submitting(&info, {.function = "aclnnTest", .uses = uses});
  }
  void copy_in(const Allocation& memory) {
    const std::vector<std::byte> host(memory.asked);
    EXPECT_TRUE(
        checker_
            .submitting(
                nullptr,
                {.function = "aclrtMemcpy", .to = memory.begin, .from = host.data(), .bytes = memory.asked, .kind = 1})
            .ok());
  }
  std::vector<std::string> found() const {
    std::vector<std::string> ids;
    std::ifstream file(file_);
    for (std::string line; std::getline(file, line);) ids.push_back(line.substr(line.find("DSC-"), 7));
    return ids;
  }
  using Ids = std::vector<std::string>;

  const std::string file_;
  Device& device_;
  Reporter reporter_;
  Checker checker_;
  std::mutex mutex_;
  std::vector<Allocation> freed_;
};

}  // namespace descend::test
