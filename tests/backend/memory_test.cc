// SPDX-License-Identifier: MIT
// Memory of the cpu device: what is handed out, and when it is given back.
#include "src/backends/cpu/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tests/backend/support.h"

namespace descend {
namespace {

struct BackendMemory : testing::Test {
  const ChangedEnvironment asynchronous{{"DESCEND_SYNC", nullptr}};
  Device& device = cpu_device();
};

TEST_F(BackendMemory, blocks_are_aligned_and_all_of_them_can_be_written) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{4 << 20}, size_t{(9 << 20) + 5}}) {
    void* const block = device.allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u) << bytes;
    std::memset(block, 1, bytes);
    device.free(block);
  }
}

TEST_F(BackendMemory, what_the_machine_does_not_have_is_null) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 64, SIZE_MAX / 2, SIZE_MAX / 2 + 1, size_t{1} << 62}) {
    EXPECT_EQ(device.allocate(bytes), nullptr) << bytes;
    EXPECT_EQ(device.allocate_host(bytes), nullptr) << bytes;
  }
}

// Memory that something else than the device has.
class UsedMemory {
 public:
  explicit UsedMemory(size_t bytes)
      : bytes_(bytes), data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memset(data_, 1, bytes);
  }
  ~UsedMemory() { munmap(data_, bytes_); }
  UsedMemory(const UsedMemory&) = delete;
  UsedMemory& operator=(const UsedMemory&) = delete;

 private:
  size_t bytes_;
  void* data_;
};

TEST_F(BackendMemory, what_others_use_is_null) {
  constexpr size_t kMargin = size_t{512} << 20;
  const UsedMemory used(2 * kMargin);
  struct sysinfo system = {};
  ASSERT_EQ(sysinfo(&system), 0);
  const size_t kept = mallinfo2().fordblks + system.freeswap * system.mem_unit;
  EXPECT_EQ(device.allocate(device.memory().free + kept + kMargin), nullptr);
  void* const block = device.allocate(device.memory().free / 2);
  EXPECT_NE(block, nullptr);
  device.free(block);
}

TEST_F(BackendMemory, there_is_some_memory_and_not_more_free_than_there_is) {
  const MemoryInfo info = device.memory();
  EXPECT_GT(info.free, size_t{1} << 20);
  EXPECT_LE(info.free, info.total);
}

TEST_F(BackendMemory, memory_is_given_back_at_once_when_no_work_is_queued) {
  const auto stream = device.make_stream();
  ASSERT_TRUE(stream->submit([] { return Status{}; }).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  const int64_t before = live_blocks();
  void* const block = device.allocate(100);
  EXPECT_EQ(live_blocks(), before + 1);
  device.free(block);
  EXPECT_EQ(live_blocks(), before);
  device.free(nullptr);
  EXPECT_EQ(live_blocks(), before);
}

TEST_F(BackendMemory, memory_is_given_back_after_the_work_of_every_stream) {
  Gate first_gate, second_gate;
  const auto first = device.make_stream(), second = device.make_stream(), idle = device.make_stream();
  hold(*first, first_gate);
  hold(*second, second_gate);
  const int64_t before = live_blocks();
  void* const block = device.allocate(100);
  ASSERT_TRUE(first->submit([=] { return std::memset(block, 1, 100), Status{}; }).ok());
  ASSERT_TRUE(second->submit([=] { return std::memset(static_cast<char*>(block) + 50, 1, 50), Status{}; }).ok());
  device.free(block);
  EXPECT_EQ(live_blocks(), before + 1);
  first_gate.open();
  ASSERT_TRUE(first->synchronize(kForEver).ok());
  EXPECT_EQ(live_blocks(), before + 1);
  second_gate.open();
  ASSERT_TRUE(second->synchronize(kForEver).ok());
  EXPECT_EQ(live_blocks(), before);
}

TEST_F(BackendMemory, memory_is_given_back_after_work_that_runs_on_a_callers_thread) {
  Gate gate;
  const auto stream = device.make_stream();
  const int64_t before = live_blocks();
  void* const block = device.allocate(100);
  std::thread caller([&] {
    EXPECT_TRUE(stream->try_run(
        [&] {
          gate.pass();
          std::memset(block, 1, 100);
          return Status{};
        },
        100));
    EXPECT_EQ(live_blocks(), before) << "whoever ran the work gives the memory back";
  });
  gate.wait_until_somebody_waits();
  device.free(block);
  EXPECT_EQ(live_blocks(), before + 1);
  gate.open();
  caller.join();
  EXPECT_TRUE(stream->idle());
}

TEST_F(BackendMemory, the_forced_end_of_a_stream_leaves_memory_to_work_that_runs) {
  for (const bool has_thread : {false, true}) {
    Gate gate;
    const auto stream = device.make_stream();
    if (has_thread) {
      ASSERT_TRUE(stream->call_host([] {}, false).ok() && stream->synchronize(kForEver).ok());
    }
    void* const block = device.allocate(100);
    const int64_t before = live_blocks();
    std::thread caller([&] {
      const auto work = [&] { return gate.pass(), std::memset(block, 1, 100), Status{}; };
      EXPECT_TRUE(stream->try_run(work, 100));
    });
    gate.wait_until_somebody_waits();
    stream->abandon();
    device.free(block);
    EXPECT_EQ(live_blocks(), before) << (has_thread ? "with a thread" : "without one");
    gate.open();
    caller.join();
    while (live_blocks() != before - 1) std::this_thread::yield();  // by the stream's thread, where it has one
  }
}

TEST_F(BackendMemory, the_end_of_a_stream_does_not_lose_memory_that_waits_for_it) {
  Gate gate;
  auto stream = device.make_stream();
  hold(*stream, gate);
  const int64_t before = live_blocks();
  void* const block = device.allocate(100);
  ASSERT_TRUE(stream->submit([=] { return std::memset(block, 1, 100), Status{}; }).ok());
  device.free(block);
  const auto event = device.make_event();
  ASSERT_TRUE(stream->record(*event).ok());
  stream.reset();
  EXPECT_EQ(live_blocks(), before + 1);
  gate.open();
  ASSERT_TRUE(event->synchronize(kForEver).ok());
  EXPECT_EQ(live_blocks(), before);
}

// What this shows, an address or thread sanitizer sees.
TEST_F(BackendMemory, threads_free_what_their_work_still_uses) {
  const int64_t before = live_blocks();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto stream = device.make_stream();
      for (int i = 0; i < 300; ++i) {
        const size_t bytes = i % 3 == 0 ? 200'000 : 100;
        void* const block = device.allocate(bytes);
        EXPECT_TRUE(stream->fill(block, 1, bytes).ok());
        EXPECT_TRUE(stream->submit([=] { return std::memset(block, 2, bytes), Status{}; }).ok());
        device.free(block);
      }
      EXPECT_TRUE(stream->synchronize(kForEver).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  // A block may still wait for the last work of a stream of another thread; one that is lost is waited for in vain.
  while (live_blocks() != before) std::this_thread::yield();
}

}  // namespace
}  // namespace descend
