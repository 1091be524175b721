// SPDX-License-Identifier: MIT
// Parallel loops: every index once, in chunks that do not depend on the number of threads.
#include "src/backends/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/backend/support.h"

// oneTBB clears its own blocks with memset, which the thread sanitizer watches although it cannot see how the library
// hands blocks from thread to thread.  Only such calls out of the library are left out, nothing that a loop does; and
// on x86-64 a mutex of its allocator's, which it unlocks when the process exits and the sanitizer has not seen locked.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libtbb.so\ncalled_from_lib:libtbbmalloc.so\nmutex:__run_exit_handlers\n";
}

namespace descend {
namespace {

using Chunks = std::vector<std::pair<int64_t, int64_t>>;

Chunks chunks_of(int64_t count, int64_t grain) {
  std::mutex mutex;
  Chunks chunks;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    chunks.emplace_back(begin, end);
  });
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

TEST(BackendParallelFor, chunks_have_exactly_the_grain_and_the_last_the_rest) {
  EXPECT_EQ(chunks_of(10, 4), (Chunks{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(chunks_of(8, 4), (Chunks{{0, 4}, {4, 8}}));
  EXPECT_EQ(chunks_of(3, 4), (Chunks{{0, 3}}));
  EXPECT_EQ(chunks_of(0, 4), Chunks{});
  EXPECT_EQ(chunks_of(-1, 4), Chunks{});
  EXPECT_EQ(chunks_of(2, 0), (Chunks{{0, 1}, {1, 2}}));
  EXPECT_EQ(chunks_of(5, INT64_MAX), (Chunks{{0, 5}}));
}

TEST(BackendParallelFor, huge_counts_do_not_overflow) {
  constexpr int64_t kGrain = INT64_MAX / 3;
  EXPECT_EQ(chunks_of(INT64_MAX, kGrain),
            (Chunks{{0, kGrain}, {kGrain, 2 * kGrain}, {2 * kGrain, 3 * kGrain}, {3 * kGrain, INT64_MAX}}));
}

TEST(BackendParallelFor, chunks_are_the_same_for_every_number_of_threads) {
  Chunks one;
  for (const char* threads : {"1", "2", "3", "8"}) {
    const ChangedEnvironment width{{"DESCEND_THREADS", threads}};
    EXPECT_EQ(parallel_width(), std::atoi(threads));
    const Chunks chunks = chunks_of(10'000, 7);
    if (one.empty()) one = chunks;
    EXPECT_EQ(chunks, one) << threads;
  }
}

TEST(BackendParallelFor, one_thread_means_the_callers) {
  const ChangedEnvironment width{{"DESCEND_THREADS", "1"}};
  bool elsewhere = false;
  const auto here = std::this_thread::get_id();
  parallel_for(1000, 1, [&](int64_t, int64_t) { elsewhere = elsewhere || std::this_thread::get_id() != here; });
  EXPECT_FALSE(elsewhere);
}

// Two chunks that wait for each other: only two threads get through.
TEST(BackendParallelFor, two_threads_really_run_at_once) {
  const ChangedEnvironment width{{"DESCEND_THREADS", "2"}};
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  parallel_for(2, 1, [&](int64_t, int64_t) {
    std::unique_lock lock(mutex);
    ++arrived;
    changed.notify_all();
    changed.wait(lock, [&] { return arrived == 2; });
  });
  EXPECT_EQ(arrived, 2);
}

TEST(BackendParallelFor, what_chunks_write_is_there_afterwards) {
  std::vector<int64_t> values(100'000, 0);
  for (int round = 1; round <= 3; ++round) {
    parallel_for(static_cast<int64_t>(values.size()), 1000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] += i * round;
    });
  }
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<int64_t>(i) * 6);
}

TEST(BackendParallelFor, loops_of_several_threads_and_loops_in_loops_get_done) {
  std::vector<std::thread> threads;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        parallel_for(8, 1, [&](int64_t, int64_t) {
          parallel_for(100, 10, [&](int64_t begin, int64_t end) { total += end - begin; });
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 6 * 20 * 8 * 100);
}

TEST(BackendParallelFor, an_exception_reaches_the_caller) {
  EXPECT_THROW(parallel_for(100, 1,
                            [](int64_t begin, int64_t) {
                              if (begin == 50) throw std::runtime_error("fifty");
                            }),
               std::runtime_error);
  EXPECT_EQ(chunks_of(10, 1).size(), 10u);
}

}  // namespace
}  // namespace descend
