// SPDX-License-Identifier: MIT
// Many threads making, using and destroying the same kinds of objects at once.
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <vector>

#include "src/runtime/context.h"
#include "tests/runtime/support.h"

namespace descend::test {
namespace {

using RuntimeThreads = Started;

constexpr int kThreads = 8;

template <class Body> void in_threads(Body&& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RuntimeThreads, each_makes_uses_and_destroys_its_own_objects) {
  in_threads([](int t) {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (int round = 0; round < 20; ++round) {
      aclrtContext context = nullptr;
      if ((t + round) % 3 == 0) {
        ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
      }
      aclrtStream stream = nullptr;
      aclrtEvent event = nullptr;
      void *device = nullptr, *host = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
      ASSERT_EQ(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      ASSERT_EQ(aclrtMallocHost(&host, 4096), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemsetAsync(device, 4096, t + 1, 4096, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemcpyAsync(host, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
      EXPECT_EQ(static_cast<char*>(host)[4095], t + 1);
      ASSERT_EQ(aclrtFree(device), ACL_SUCCESS);
      ASSERT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
      ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
      ASSERT_EQ(round % 2 ? aclrtDestroyStream(stream) : aclrtDestroyStreamForce(stream), ACL_SUCCESS);
      if (context != nullptr) {
        ASSERT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
        ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
      }
    }
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

TEST_F(RuntimeThreads, one_stream_is_used_by_all_and_destroyed_by_one) {
  for (int round = 0; round < 10; ++round) {
    const aclrtStream stream = new_stream();
    const aclrtEvent event = new_event();
    std::atomic<int> destroyed{0}, events_destroyed{0}, ran{0}, launched{0};
    in_threads([&](int t) {
      for (int i = 0; i < 50; ++i) {
        const auto add = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
        const aclError result = aclrtLaunchHostFunc(stream, add, &ran);
        ASSERT_TRUE(result == ACL_SUCCESS || result == ACL_ERROR_RT_INVALID_HANDLE) << result;
        launched += result == ACL_SUCCESS;
        const aclError recorded = aclrtRecordEvent(event, stream);
        ASSERT_TRUE(recorded == ACL_SUCCESS || recorded == ACL_ERROR_RT_INVALID_HANDLE) << recorded;
        const aclError waited = aclrtSynchronizeEvent(event);
        ASSERT_TRUE(waited == ACL_SUCCESS || waited == ACL_ERROR_RT_INVALID_HANDLE) << waited;
        if (i == 25 && t % 2) {
          destroyed += aclrtDestroyStream(stream) == ACL_SUCCESS;
          events_destroyed += aclrtDestroyEvent(event) == ACL_SUCCESS;
        }
      }
    });
    EXPECT_EQ(destroyed, 1);
    EXPECT_EQ(events_destroyed, 1);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_LE(ran, launched);
    aclrtSynchronizeDevice();
  }
}

// Rounds of what seldom happens: so many, or as there is time for.
class Rounds {
 public:
  explicit Rounds(int most) : left_(most) {}
  bool next() { return left_-- > 0 && std::chrono::steady_clock::now() < latest_ && !testing::Test::HasFailure(); }

 private:
  int left_;
  const std::chrono::steady_clock::time_point latest_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

// One thread records an event while another has the same stream wait for it.  A wait for a point that is in the queue
// behind the wait itself would never end.
TEST_F(RuntimeThreads, a_stream_never_waits_for_what_is_behind_the_wait) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  for (Rounds rounds(100); rounds.next();) {
    Gate gate;  // no point is reached before it is open
    gate.hold(stream);
    std::atomic<int> ready{0};
    const auto repeat = [&](auto&& call) {
      for (++ready; ready < 2;) std::this_thread::yield();
      for (int i = 0; i < 3000; ++i) ASSERT_EQ(call(), ACL_SUCCESS);
    };
    std::thread recording([&] { repeat([&] { return aclrtRecordEvent(event, stream); }); });
    repeat([&] { return aclrtStreamWaitEvent(stream, event); });
    recording.join();
    gate.open();
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 60'000), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
}

TEST_F(RuntimeThreads, an_event_that_all_record_covers_what_each_has_queued) {
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  in_threads([&](int) {
    std::atomic<int> ran{0};
    const auto add = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
    Rounds rounds(4000);
    for (int round = 1; rounds.next(); ++round) {
      ASSERT_EQ(aclrtLaunchHostFunc(stream, add, &ran), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
      EXPECT_EQ(ran, round);
    }
    aclrtSynchronizeStream(stream);  // `ran` ends here
  });
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeThreads, set_and_reset_count_right) {
  in_threads([](int) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
      ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    }
  });
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS) << "the fixture's own";
  EXPECT_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
}

TEST_F(RuntimeThreads, the_last_reset_while_others_begin) {
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  in_threads([](int) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS) << "this thread's own count keeps the context";
      ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    }
  });
  EXPECT_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
}

TEST_F(RuntimeThreads, init_and_finalize_while_others_work) {
  std::atomic<bool> stop{false};
  std::thread restarting([&] {
    for (int i = 0; i < 30; ++i) {
      aclFinalize();
      aclInit(nullptr);
    }
    stop = true;
  });
  in_threads([&](int) {
    while (!stop) {
      aclrtSetDevice(0);
      aclrtStream stream = nullptr;
      if (aclrtCreateStream(&stream) == ACL_SUCCESS) {
        aclrtLaunchHostFunc(
            stream, [](void*) {}, nullptr);
        aclrtSynchronizeStream(stream);
        aclrtDestroyStream(stream);
      }
      void* memory = nullptr;
      if (aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) {
        EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << "memory stays, whatever ends";
      }
      aclGetRecentErrMsg();
    }
  });
  restarting.join();
}

TEST_F(RuntimeThreads, subscribing_launching_and_destroying_at_once) {
  in_threads([](int t) {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (int i = 0; i < 20; ++i) {
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      const auto self = static_cast<uint64_t>(pthread_self());
      ASSERT_EQ(aclrtSubscribeReport(self, stream), ACL_SUCCESS);
      std::atomic<int> ran{0};
      const auto add = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
      ASSERT_EQ(aclrtLaunchCallback(add, &ran, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
      if ((t + i) % 2) {
        ASSERT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
        EXPECT_EQ(ran, 1);
      }
      ASSERT_EQ(i % 3 ? aclrtDestroyStream(stream) : aclrtDestroyStreamForce(stream), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

TEST_F(RuntimeThreads, handles_are_never_given_twice) {
  std::mutex mutex;
  std::set<void*> seen;
  in_threads([&](int) {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (int i = 0; i < 50; ++i) {
      aclrtEvent event = nullptr;
      ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
      ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(seen.insert(event).second);
    }
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

TEST_F(RuntimeThreads, a_stream_that_ended_lets_its_resources_go) {
  const aclrtStream stream = new_stream();
  std::weak_ptr<StreamObject> object = find_stream(stream).object;
  ASSERT_FALSE(object.expired());
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(object.expired()) << "also though this thread remembers the stream it found last";
  const std::weak_ptr<Context> context = current_context();
  const std::weak_ptr<StreamObject> default_stream = find_stream(nullptr).object;
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_TRUE(default_stream.expired());
  EXPECT_EQ(current_context(), nullptr);
  EXPECT_TRUE(context.expired());
}

}  // namespace
}  // namespace descend::test
