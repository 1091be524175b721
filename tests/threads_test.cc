// SPDX-License-Identifier: MIT
// Many threads creating, running and destroying at once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "tests/harness/call.h"

namespace descend::test {
namespace {

constexpr int kThreads = 8;

// Calls body(thread) on all of them at once.
template <class Body> void on_threads(const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { body(i); });
  for (std::thread& t : threads) t.join();
}

TEST(ThreadsOfOperators, each_with_its_own_objects_and_stream) {
  on_threads([](int thread) {
    const OnDevice here;
    for (int round = 0; round < 60; ++round) {
      // Small calls run at once, large ones are queued.
      const int64_t n = round % 4 == 0 ? 40000 : 1 + thread + round;
      std::vector<float> values(static_cast<size_t>(n), static_cast<float>(thread + 1)), result(values.size());
      const size_t bytes = values.size() * sizeof(float);
      void *in, *out;
      ASSERT_EQ(aclrtMalloc(&in, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      ASSERT_EQ(aclrtMalloc(&out, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      ASSERT_EQ(aclrtMemcpy(in, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
      aclrtStream stream;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      aclTensor* self = aclCreateTensor(&n, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &n, 1, in);
      aclTensor* to = aclCreateTensor(&n, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &n, 1, out);
      float number = static_cast<float>(round);
      aclScalar* scale = aclCreateScalar(&number, ACL_FLOAT);
      uint64_t size;
      aclOpExecutor* executor;
      ASSERT_EQ(aclnnEluGetWorkspaceSize(self, scale, scale, scale, to, &size, &executor), 0) << recent_error();
      ASSERT_EQ(aclnnElu(nullptr, size, executor, stream), 0) << recent_error();
      // Everything but the memory of the result may go before the work is done.
      ASSERT_EQ(aclDestroyTensor(self), 0);
      ASSERT_EQ(aclDestroyTensor(to), 0);
      ASSERT_EQ(aclDestroyScalar(scale), 0);
      ASSERT_EQ(aclrtFree(in), 0);
      ASSERT_EQ(aclrtDestroyStream(stream), 0);
      ASSERT_EQ(aclrtMemcpy(result.data(), bytes, out, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
      for (float v : result) ASSERT_EQ(v, static_cast<float>((thread + 1) * round));
      ASSERT_EQ(aclrtFree(out), 0);
    }
  });
}

// Four zeros on the device, and phase one of their ELU in place.
class Zeros {
 public:
  Zeros() {
    EXPECT_EQ(aclrtMalloc(&memory_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemset(memory_, kBytes, 0, kBytes), 0);
    tensor_ = aclCreateTensor(&kCount, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &kCount, 1, memory_);
    float number = 1;
    one_ = aclCreateScalar(&number, ACL_FLOAT);
  }
  ~Zeros() {
    EXPECT_EQ(aclDestroyTensor(tensor_), 0);
    EXPECT_EQ(aclDestroyScalar(one_), 0);
    EXPECT_EQ(aclrtFree(memory_), 0);
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  aclnnStatus plan(aclOpExecutor** executor) const {
    uint64_t size;
    return aclnnInplaceEluGetWorkspaceSize(tensor_, one_, one_, one_, &size, executor);
  }

 private:
  static constexpr int64_t kCount = 4;
  static constexpr size_t kBytes = kCount * sizeof(float);
  const OnDevice here_;
  void* memory_ = nullptr;
  aclTensor* tensor_ = nullptr;
  aclScalar* one_ = nullptr;
};

TEST(ThreadsOfOperators, one_executor_is_run_by_exactly_one) {
  const Zeros zeros;
  for (int round = 0; round < 200; ++round) {
    aclOpExecutor* executor;
    ASSERT_EQ(zeros.plan(&executor), 0);
    std::atomic<int> ran{0}, refused{0}, destroyed{0};
    on_threads([&](int thread) {
      const OnDevice too;
      if (thread == 0) {
        destroyed += aclDestroyAclOpExecutor(executor) == 0;
        return;
      }
      const aclnnStatus status = aclnnInplaceElu(nullptr, 0, executor, nullptr);
      ran += status == 0;
      refused += status == 161002;
    });
    ASSERT_EQ(ran + destroyed, 1);
    ASSERT_EQ(ran + refused, kThreads - 1);
  }
}

TEST(ThreadsOfOperators, a_repeatable_executor_ends_once_while_others_run_and_look_at_it) {
  const Zeros zeros;
  for (int round = 0; round < 100; ++round) {
    aclOpExecutor* executor;
    ASSERT_EQ(zeros.plan(&executor), 0);
    ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
    std::atomic<int> destroyed{0};
    on_threads([&](int thread) {
      const OnDevice too;
      for (int i = 0; i < 10; ++i) {
        aclnnStatus status = 0;
        if (thread % 2 == 0)
          status = aclnnInplaceElu(nullptr, 0, executor, nullptr);
        else if (thread > 3)
          status = aclSetAclOpExecutorRepeatable(executor);
        else if (i == 5)
          destroyed += aclDestroyAclOpExecutor(executor) == 0;
        ASSERT_TRUE(status == 0 || status == 161002 || status == 561000) << status;
        // Another call takes a plan that was given back: none that anybody still uses.
        aclOpExecutor* other;
        ASSERT_EQ(zeros.plan(&other), 0);
        ASSERT_NE(other, executor);
        ASSERT_EQ(aclnnInplaceElu(nullptr, 0, other, nullptr), 0);
      }
    });
    ASSERT_EQ(destroyed, 1);
    ASSERT_EQ(aclDestroyAclOpExecutor(executor), 561000);
  }
}

TEST(ThreadsOfOperators, one_stream_is_shared_in_some_order) {
  const OnDevice here;
  aclrtStream stream;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  const int64_t n = 8;
  void* memory;
  std::vector<float> values(8, 1.0f);
  const size_t bytes = values.size() * sizeof(float);
  ASSERT_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  aclTensor* t = aclCreateTensor(&n, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &n, 1, memory);
  float numbers[] = {1, 2, 0.5f};
  aclScalar *one = aclCreateScalar(&numbers[0], ACL_FLOAT), *two = aclCreateScalar(&numbers[1], ACL_FLOAT),
            *half = aclCreateScalar(&numbers[2], ACL_FLOAT);
  // Doubled as often as halved, each exactly: the order does not show, a lost or torn step does.  Few enough that no
  // order leaves the range of float.
  on_threads([&](int thread) {
    for (int i = 0; i < 25; ++i) {
      uint64_t size;
      aclOpExecutor* executor;
      ASSERT_EQ(aclnnInplaceEluGetWorkspaceSize(t, one, thread % 2 ? two : half, one, &size, &executor), 0);
      ASSERT_EQ(aclnnInplaceElu(nullptr, size, executor, stream), 0) << recent_error();
    }
  });
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  ASSERT_EQ(aclrtMemcpy(values.data(), bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  for (float v : values) EXPECT_EQ(v, 1.0f);
  for (aclScalar* s : {one, two, half}) ASSERT_EQ(aclDestroyScalar(s), 0);
  ASSERT_EQ(aclDestroyTensor(t), 0);
  ASSERT_EQ(aclrtFree(memory), 0);
  ASSERT_EQ(aclrtDestroyStream(stream), 0);
}

}  // namespace
}  // namespace descend::test
