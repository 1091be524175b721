// SPDX-License-Identifier: MIT
// The checker as an observer of its own: told of right and of wrong programs by many threads at once.
#include "src/check/checker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/check/checker_fixture.h"

namespace descend::test {
namespace {

TEST_F(CheckChecker, device_memory_has_an_address_without_access_that_is_not_used_again) {
  const Allocation first = allocate(100);
  EXPECT_NE(first.begin, first.memory);
  free(first);
  const Allocation second = allocate(100);
  EXPECT_NE(second.begin, first.begin);
  EXPECT_FALSE(run(1, {use("self", first, false)}).ok());
  EXPECT_EQ(found(), Ids{"DSC-104"});
  free(second);
}

TEST_F(CheckChecker, addresses_are_given_back_when_a_checker_ends) {
  Allocation memory;
  memory.memory = memory.begin = static_cast<std::byte*>(device_.allocate(64));
  memory.bytes = memory.asked = 64;
  memory.device = &device_;
  const auto is_reserved = [&] { return msync(memory.begin, 1, MS_ASYNC) == 0; };  // it begins a page
  std::optional<Checker> other(std::in_place, reporter_);
  other->allocated(memory);
  ASSERT_NE(memory.begin, memory.memory);
  EXPECT_TRUE(is_reserved());
  other.reset();
  EXPECT_FALSE(is_reserved());
  device_.free(memory.memory);
}

TEST_F(CheckChecker, reads_of_what_an_event_orders_are_no_race_and_others_are) {
  const Allocation memory = allocate(64);
  const StreamInfo first{1, 0, &device_, nullptr}, second{2, 0, &device_, nullptr};
  const int event = 0;
  EXPECT_TRUE(run(1, {use("out", memory, true)}).ok());
  checker_.recorded(&event, first);
  checker_.waits(second, &event);
  EXPECT_TRUE(run(2, {use("self", memory, false)}).ok());
  EXPECT_EQ(found(), Ids{});
  EXPECT_TRUE(run(1, {use("out", memory, true)}).ok());  // while stream 2 may be reading
  EXPECT_EQ(found(), Ids{"DSC-201"});
  checker_.joined(first);
  checker_.joined(second);
  free(memory);
  EXPECT_EQ(found(), Ids{"DSC-201"});
}

TEST_F(CheckChecker, a_function_that_is_dropped_stands_for_no_other) {
  const Allocation used = allocate(64), unwritten = allocate(64);
  const int dropped = 0, next = 0;
  checker_.host_function(1, &dropped, HostFunction::kQueued);
  EXPECT_TRUE(run(1, {use("out", used, true)}).ok());
  checker_.host_function(1, &next, HostFunction::kQueued);
  checker_.host_function(1, &dropped, HostFunction::kOver);
  checker_.host_function(1, &next, HostFunction::kBegins);
  free(used);
  EXPECT_EQ(found(), Ids{}) << "the work was done when the next function began";
  checker_.host_function(1, &next, HostFunction::kOver);
  EXPECT_TRUE(run(1, {use("self", unwritten, false)}).ok());
  EXPECT_EQ(found(), Ids{"DSC-107"}) << "no function is left that could write it";
  checker_.joined({1, 0, &device_, nullptr});
  free(unwritten);
}

TEST_F(CheckChecker, columns_of_one_matrix_are_no_race) {
  const Allocation memory = allocate(64);
  copy_in(memory);
  const auto column = [&](int64_t k) {
    Use made = use("out", memory, true);
    made.view.shape = {8};
    made.view.strides = {8};
    made.view.offset = k;
    return made;
  };
  EXPECT_TRUE(run(1, {column(0)}).ok());
  EXPECT_TRUE(run(2, {column(1)}).ok());
  EXPECT_EQ(found(), Ids{});
  EXPECT_TRUE(run(3, {column(1)}).ok());
  EXPECT_EQ(found(), Ids{"DSC-201"});
  for (uint32_t stream : {1, 2, 3}) checker_.stream_ended({stream, 0, &device_, nullptr});
  free(memory);
}

TEST_F(CheckChecker, a_copy_within_the_device_carries_over_what_was_not_written) {
  const Allocation from = allocate(64), to = allocate(64);
  std::vector<std::byte> host(64);
  const auto copy = [&](void* to_address, const void* from_address, uint64_t bytes, int32_t kind) {
    return checker_.submitting(
        nullptr, {.function = "aclrtMemcpy", .to = to_address, .from = from_address, .bytes = bytes, .kind = kind});
  };
  EXPECT_TRUE(copy(from.begin + 8, host.data(), 8, 1).ok());
  EXPECT_TRUE(copy(to.begin, from.begin, 64, 3).ok());
  EXPECT_TRUE(copy(host.data(), to.begin + 8, 8, 2).ok());
  EXPECT_EQ(found(), Ids{});
  EXPECT_TRUE(copy(host.data(), to.begin + 8, 9, 2).ok());
  EXPECT_EQ(found(), Ids{"DSC-107"});
  EXPECT_TRUE(copy(to.begin, host.data(), 64, 1).ok());
  EXPECT_TRUE(copy(to.begin, from.begin, 64, 3).ok());
  EXPECT_TRUE(copy(host.data(), to.begin + 16, 1, 2).ok());
  EXPECT_EQ(found(), Ids(2, "DSC-107")) << "over what was written";
  EXPECT_TRUE(copy(from.begin + 16, from.begin + 8, 16, 3).ok());
  EXPECT_TRUE(copy(host.data(), from.begin + 16, 8, 2).ok());
  EXPECT_EQ(found(), Ids(2, "DSC-107"));
  EXPECT_TRUE(copy(host.data(), from.begin + 24, 8, 2).ok());
  EXPECT_EQ(found(), Ids(3, "DSC-107")) << "within one memory, what was there before";
  free(from);
  free(to);
}

TEST_F(CheckChecker, a_copy_behind_a_function_that_may_write_its_source_is_written) {
  const Allocation from = allocate(64), to = allocate(64);
  const StreamInfo stream{1, 0, &device_, nullptr};
  const int function = 0;
  checker_.host_function(1, &function, HostFunction::kQueued);
  EXPECT_TRUE(
      checker_
          .submitting(&stream,
                      {.function = "aclrtMemcpyAsync", .to = to.begin, .from = from.begin, .bytes = 64, .kind = 3})
          .ok());
  checker_.host_function(1, &function, HostFunction::kOver);
  EXPECT_TRUE(run(1, {use("self", to, false)}).ok());
  EXPECT_EQ(found(), Ids{});
  checker_.joined(stream);
  free(from);
  free(to);
}

TEST_F(CheckChecker, of_many_objects_of_one_place_some_are_named) {
  constexpr size_t kNamed = 8;
  std::vector<Allocation> made;
  for (size_t i = 0; i < kNamed + 12; ++i) made.push_back(allocate(64));
  checker_.report_alive("exit");
  EXPECT_EQ(found(), Ids{"DSC-306"});
  std::ifstream file(file_);
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(line.find(", and 12 more"), std::string::npos) << line;
  for (const Allocation& each : made) free(each);
}

TEST_F(CheckChecker, a_copy_that_is_refused_has_written_nothing) {
  const Allocation memory = allocate(64);
  const std::vector<std::byte> host(64);
  (void)checker_.submitting(
      nullptr,
      {.function = "aclrtMemcpy", .to = memory.begin, .from = host.data(), .bytes = 64, .kind = 1, .refused = true});
  EXPECT_EQ(found(), Ids{});
  (void)run(1, {use("self", memory, false)});
  EXPECT_EQ(found(), Ids{"DSC-107"});
  free(memory);
}

TEST_F(CheckChecker, a_copy_of_more_bytes_than_there_are_addresses_is_told_and_over) {
  const Allocation from = allocate(64), to = allocate(64);
  copy_in(from);
  for (const uint64_t bytes : {uint64_t{INT64_MAX}, uint64_t{1} << 63, UINT64_MAX})
    (void)checker_.submitting(
        nullptr, {.function = "aclrtMemcpy", .to = to.begin, .from = from.begin, .bytes = bytes, .kind = 3});
  EXPECT_EQ(found(), (Ids{"DSC-101", "DSC-101"})) << "of both sides, once for all that are made at one place";
  free(from);
  free(to);
}

TEST_F(CheckChecker, many_threads_that_do_right_are_told_nothing) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const StreamInfo stream{100 + t, 0, &device_, nullptr};
      for (int i = 0; i < 50; ++i) {
        const Allocation in = allocate(256), out = allocate(256);
        int object = 0;
        checker_.created(ObjectKind::kTensor, &object);
        copy_in(in);
        EXPECT_TRUE(run(stream.id, {use("self", in, false), use("out", out, true)}).ok());
        checker_.destroyed(ObjectKind::kTensor, &object);
        checker_.joined(stream);
        free(in);
        free(out);
      }
      checker_.stream_ended(stream);
    });
  for (std::thread& thread : threads) thread.join();
  checker_.report_alive("exit");
  EXPECT_EQ(found(), Ids{});
}

TEST_F(CheckChecker, many_threads_that_do_wrong_are_all_told) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const Allocation memory = allocate(256);
      const std::string name = "self" + std::to_string(t);
      EXPECT_TRUE(run(100 + t, {use(name.c_str(), memory, false)}).ok());  // never written
      checker_.joined({100 + t, 0, &device_, nullptr});
      free(memory);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found(), Ids(8, "DSC-107"));
}

}  // namespace
}  // namespace descend::test
