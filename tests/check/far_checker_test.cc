// SPDX-License-Identifier: MIT
// The checker of a device whose memory the host cannot read.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "src/check/checker.h"
#include "src/observe/advice.h"
#include "tests/check/checker_fixture.h"
#include "tests/check/far_device.h"

namespace descend::test {
namespace {

class CheckCheckerFarAway : public CheckChecker {
 protected:
  CheckCheckerFarAway() : CheckChecker(far().device(0)) {}
  static FarBackend& far() {
    static FarBackend& backend = *new FarBackend(true);
    return backend;
  }

  // A run of a loss, whose kernels are work(), and what the watch says when it is over.
  template <class Work> void watch(const FarBackend& backend, const std::vector<Use>& uses, const Work& work) {
    const void* const executor = nullptr;
    Advice advice;
    advice.classes.push_back({"target", 3, -100, true});
    checker_.created(ObjectKind::kExecutor, executor);
    checker_.planned(executor, advice);
    const std::unique_ptr<Stream> stream = host().make_stream();
    const StreamInfo info{1, 0, &device_, stream.get(), &backend};
    Launch launch{*stream, nullptr, "aclnnTest"};
    const auto watch = checker_.watch(info, {.function = "aclnnTest", .executor = executor, .uses = uses}, uses);
    if (watch) watch->before(launch);
    work();
    if (watch) watch->after(launch);
    if (watch) watch->over();
  }
  template <class T> Use put(const char* name, const Allocation& memory, const std::vector<T>& values, bool written) {
    Use made = use(name, memory, written);
    made.view.dtype = std::is_same_v<T, float> ? DataType::kFloat : DataType::kInt64;
    made.view.shape = {static_cast<int64_t>(values.size())};
    made.view.data = memory.memory;
    std::memcpy(FarDevice::behind(memory.memory), values.data(), values.size() * sizeof(T));
    return made;
  }
  std::string text() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(CheckCheckerFarAway, everything_is_known) {
  const Allocation memory = allocate(64), other = allocate(64);
  EXPECT_TRUE(run(1, {use("self", memory, false)}).ok());
  EXPECT_EQ(found(), Ids{"DSC-107"});
  copy_in(memory);
  EXPECT_TRUE(run(2, {use("self", memory, false), use("out", other, true)}).ok());
  EXPECT_TRUE(run(3, {use("self", other, false)}).ok());
  EXPECT_EQ(found(), (Ids{"DSC-107", "DSC-202", "DSC-201"}));
  for (uint32_t stream : {1, 2, 3}) checker_.joined({stream, 0, &device_, nullptr});
  free(memory);
  EXPECT_FALSE(run(4, {use("self", memory, false)}).ok());
  EXPECT_EQ(found(), (Ids{"DSC-107", "DSC-202", "DSC-201", "DSC-104"}));
  free(other);
}

TEST_F(CheckCheckerFarAway, memory_at_an_address_that_was_freed_before_is_known) {
  free(allocate(64));
  const Allocation memory = allocate(64);  // in the place of the first
  copy_in(memory);
  for (int i = 0; i < 5000; ++i) free(allocate(64));  // more than what is remembered of freed memory
  EXPECT_TRUE(run(1, {use("self", memory, false)}).ok());
  EXPECT_EQ(found(), Ids{});
  checker_.joined({1, 0, &device_, nullptr});
  free(memory);
}

TEST_F(CheckCheckerFarAway, an_address_in_no_allocation_is_nobodys) {
  const Allocation memory = allocate(64);
  Use astray = use("self", memory, false);
  astray.view.data = memory.begin + 4096;
  EXPECT_FALSE(run(1, {astray}).ok());
  EXPECT_EQ(found(), Ids{"DSC-105"});
  free(memory);
}

TEST_F(CheckCheckerFarAway, values_are_looked_at_where_they_are) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const Allocation a = allocate(64), b = allocate(64), c = allocate(64);
  const auto run = [&](const std::vector<float>& scores, const std::vector<int64_t>& targets, float result) {
    const Use out = put<float>("out", c, {0, 0}, true);
    watch(far(), {put("self", a, scores, false), put("target", b, targets, false), out}, [&] {
      put<float>("out", c, {1, result}, true);
    });
  };
  run({1, 2}, {0, 2}, 1);
  run({1, nan}, {0, 2}, nan);  // it was there before
  EXPECT_EQ(found(), Ids{});
  run({1, 2}, {-100, 0}, -infinite);
  EXPECT_EQ(found(), Ids{"DSC-403"});
  EXPECT_NE(text().find("FLOAT[2] has -inf at [1]"), std::string::npos) << text();
  run({1, 2}, {7, 0}, 1);
  EXPECT_EQ(found(), (Ids{"DSC-403", "DSC-401"}));
  EXPECT_NE(text().find("INT64[2] has 7 at [0]; classes are 0 to 2, ignoreIndex is -100"), std::string::npos) << text();
  run({1, 2}, {-100, -100}, nan);
  EXPECT_EQ(found(), (Ids{"DSC-403", "DSC-401", "DSC-402"}));
  for (const Allocation& each : {a, b, c}) free(each);
}

TEST_F(CheckCheckerFarAway, only_what_a_finding_names_is_copied_to_the_host_and_once) {
  const Allocation a = allocate(64), b = allocate(64), c = allocate(64);
  const int& copies = far().device(0).copies;
  const int before = copies;
  const auto repeat = [&](float score, int64_t target, float result) {
    for (int i = 0; i < 3; ++i)
      watch(far(),
            {put<float>("self", a, {1, score}, false), put<int64_t>("target", b, {0, target}, false),
             put<float>("out", c, {0, 0}, true)},
            [&] {
              put<float>("out", c, {1, result}, true);
            });
  };
  repeat(-INFINITY, 2, INFINITY);
  EXPECT_EQ(found(), Ids{});
  EXPECT_EQ(copies - before, 0);
  repeat(1, 2, INFINITY);
  EXPECT_EQ(found(), Ids{"DSC-403"});
  EXPECT_EQ(copies - before, 1);
  repeat(1, 3, 1);
  EXPECT_EQ(found(), (Ids{"DSC-403", "DSC-401"}));
  EXPECT_EQ(copies - before, 2);
  for (const Allocation& each : {a, b, c}) free(each);
}

TEST_F(CheckCheckerFarAway, what_was_written_over_was_looked_at_before) {
  const Allocation memory = allocate(64);
  Use both = put<float>("selfRef", memory, {std::numeric_limits<float>::quiet_NaN()}, true);
  both.read = true;
  watch(far(), {both}, [] {});
  EXPECT_EQ(found(), Ids{});
  put<float>("selfRef", memory, {1}, true);
  watch(far(), {both}, [&] { put<float>("selfRef", memory, {std::numeric_limits<float>::infinity()}, true); });
  EXPECT_EQ(found(), Ids{"DSC-403"});
  free(memory);
}

TEST_F(CheckCheckerFarAway, many_runs_use_the_same_few_answers) {
  const Allocation memory = allocate(64);
  for (int i = 0; i < 1000; ++i) watch(far(), {put<float>("out", memory, {1}, true)}, [] {});
  EXPECT_EQ(found(), Ids{});
  watch(far(), {put<float>("out", memory, {1}, true)}, [&] { put<float>("out", memory, {INFINITY}, true); });
  EXPECT_EQ(found(), Ids{"DSC-403"});
  free(memory);
}

TEST_F(CheckCheckerFarAway, a_backend_without_the_kernel_is_not_looked_at) {
  const FarBackend blind(false);
  const Allocation memory = allocate(64);
  watch(blind, {put<float>("out", memory, {INFINITY}, true)}, [] {});
  EXPECT_EQ(found(), Ids{});
  free(memory);
}

}  // namespace
}  // namespace descend::test
