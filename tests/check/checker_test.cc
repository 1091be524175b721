// SPDX-License-Identifier: MIT
// The checker as an observer of its own: told of right and of wrong programs by many threads at once.
#include "src/check/checker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "src/backends/cpu/device.h"
#include "src/loops/inspect_kernels.h"
#include "src/observe/advice.h"

namespace descend::test {
namespace {

// A checker whose findings are lines of a file.
class CheckChecker : public testing::Test {
 protected:
  explicit CheckChecker(Device& device)
      : file_(testing::TempDir() + "findings_" + std::to_string(reinterpret_cast<uintptr_t>(this))),
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

// A device whose memory the host cannot even read: whoever tries to ends the test.  The bytes are behind a hill.
class FarDevice final : public Device {
 public:
  std::string description() const override { return "far away"; }
  // What was freed last comes again first.
  void* allocate(size_t) override {
    if (!free_.empty()) {
      void* const again = free_.back();
      free_.pop_back();
      return again;
    }
    void* const at = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED || mprotect(at, kBytes, PROT_NONE) != 0 ? nullptr : at;
  }
  void free(void* memory) override { free_.push_back(memory); }
  void* allocate_host(size_t bytes) override { return std::malloc(bytes); }
  void free_host(void* memory) override { std::free(memory); }
  Status copy(void* to, const void* from, size_t bytes) override {
    ++copies;
    std::memcpy(to, behind(from), bytes);
    return {};
  }
  Status fill(void* at, uint8_t byte, size_t bytes) override {
    std::memset(behind(at), byte, bytes);
    return {};
  }
  std::unique_ptr<Stream> make_stream() override { return queues_.make_stream(); }
  std::unique_ptr<Event> make_event() override { return nullptr; }
  MemoryInfo memory() const override { return {}; }

  template <class Address> static Address behind(Address at) {
    return reinterpret_cast<Address>(reinterpret_cast<uintptr_t>(at) + kBytes);
  }
  int copies = 0;

 private:
  static constexpr size_t kBytes = 1 << 16;
  std::vector<void*> free_;
  CpuDevice queues_{"cpu"};  // whose threads launch its kernels
};

// Its kernel for looking, for what the tests look at.
Status inspect(const InspectArgs& a, void* const* data, Launch&) {
  auto& seen = *static_cast<Inspected*>(data[1]);
  seen.ran = 1;
  for (int64_t i = 0; i < a.points.points(); ++i) {
    const int64_t at = a.points.rank == 0 ? 0 : i * a.points.stride[0][0];
    if (a.points.dtype[0] == DataType::kFloat) {
      seen.not_finite |= !std::isfinite(static_cast<const float*>(FarDevice::behind(data[0]))[at]);
      continue;
    }
    const int64_t value = static_cast<const int64_t*>(FarDevice::behind(data[0]))[at];
    const bool counts = value != a.ignored, inside = value >= 0 && value < a.classes;
    seen.has_class |= counts && inside;
    seen.has_other |= counts && !inside;
  }
  return {};
}

class FarBackend final : public Backend {
 public:
  explicit FarBackend(bool can_look) {
    if (can_look) kernels_.add(kInspect, inspect);
  }
  std::string_view name() const override { return "far"; }
  int device_count() const override { return 1; }
  FarDevice& device(int) override { return device_; }
  const KernelTable& kernels() const override { return kernels_; }

 private:
  FarDevice device_;
  KernelTable kernels_;
};

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
