// SPDX-License-Identifier: MIT
// The floating-point mode of a program's threads is its own: results do not depend on it, and it stays as it is.
#include <bit>
#include <cfenv>
#include <thread>

#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "tests/executor/support.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace descend::test {
namespace {

// The thread flushes subnormals to 0, rounds upward and traps invalid operations, divisions by 0 and overflow, as long
// as this lives.
class StrangeMode {
 public:
  StrangeMode() : before_(get()) { set(strange()); }
  ~StrangeMode() { set(before_); }
  static bool is_on() { return (get() & kMode) == (strange() & kMode); }

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kMode = 0xffc0;
  static uint64_t get() { return _mm_getcsr(); }
  static void set(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
  static uint64_t strange() { return 0x8040 | 0x4000 | 0x1900; }  // results, and operands; upward; what is not trapped
#else
  static constexpr uint64_t kMode = ~uint64_t{0x0700};  // not every processor has traps
  static uint64_t get() {
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set(uint64_t mode) { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }
  static uint64_t strange() { return 1 << 24 | 1 << 22 | 0x0700; }
#endif
  const uint64_t before_;
};

constexpr float kSubnormal = 0x1p-140f;

class FloatMode : public testing::Test {
 protected:
  OnDevice on_device_;
};

// Small calls run on the caller's thread, larger ones on others, which may have been started with the strange mode.
TEST_F(FloatMode, subnormals_are_kept_by_all_threads) {
  const Scalar one(1);
  for (const int64_t n : {5, 4096, 1 << 17, 1 << 21}) {
    Tensor in(DataType::kFloat, {n}), out(DataType::kFloat, {n});
    for (int64_t i = 0; i < n; ++i) in.set(i, double{kSubnormal});
    in.upload();
    out.upload();
    {
      const StrangeMode mode;
      aclrtStream stream = nullptr;  // its thread begins now
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      const bool done =
          aclrtCreateStream(&stream) == 0 &&
          aclnnEluGetWorkspaceSize(in.on_device(), one, one, one, out.on_device(), &size, &executor) == 0 &&
          aclnnElu(nullptr, size, executor, stream) == 0 && aclrtSynchronizeStream(stream) == 0 &&
          aclrtDestroyStream(stream) == 0;
      ASSERT_TRUE(done && StrangeMode::is_on());
    }
    out.download();
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.get(i), double{kSubnormal}) << n << " elements, number " << i;
  }
}

TEST_F(FloatMode, sums_are_rounded_to_nearest) {
  for (const int64_t n : {1000, 1 << 20}) {
    Tensor self(DataType::kFloat, {n}), target(DataType::kFloat, {n}), usual(DataType::kFloat, {}),
        strange(DataType::kFloat, {});
    for (int64_t i = 0; i < n; ++i) self.set(i, double{0.1f}), target.set(i, 0);
    for (Tensor* each : {&self, &target, &usual, &strange}) each->upload();
    const auto sum = [&](const Tensor& result) {
      return call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, self.on_device(), target.on_device(),
                  int64_t{2}, 1.0f, result.on_device());
    };
    ASSERT_EQ(sum(usual), 0);
    aclnnStatus status;
    {
      const StrangeMode mode;
      status = sum(strange);
    }
    ASSERT_EQ(status, 0);
    usual.download();
    strange.download();
    EXPECT_EQ(strange.get(0), usual.get(0)) << n;
  }
}

// What phase one computes, and what it takes for a call like the last one.
TEST_F(FloatMode, parameters_are_what_was_given) {
  Tensor in(DataType::kFloat, {1}), out(DataType::kFloat, {1});
  in.fill({0x1p100});
  in.upload();
  out.upload();
  double results[2];
  for (const float factor : {0.0f, kSubnormal}) {
    aclnnStatus status;
    {
      const StrangeMode mode;
      float value = factor, one = 1;
      aclScalar *const scale = aclCreateScalar(&value, ACL_FLOAT), *const other = aclCreateScalar(&one, ACL_FLOAT);
      status = call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, in.on_device(), other, scale, other, out.on_device());
      aclDestroyScalar(scale);
      aclDestroyScalar(other);
    }
    ASSERT_EQ(status, 0);
    out.download();
    results[factor != 0] = out.get(0);
  }
  EXPECT_EQ(results[0], 0);
  EXPECT_EQ(results[1], 0x1p-40);

  // beta: a difference of one subnormal unit is the square's half over beta, or with beta 0 itself.
  Tensor self(DataType::kFloat, {1}), zero(DataType::kFloat, {1}), loss(DataType::kFloat, {1});
  self.fill({double{kSubnormal} / 2});
  zero.fill({0});
  for (Tensor* each : {&self, &zero, &loss}) each->upload();
  for (const float beta : {0.0f, kSubnormal}) {
    aclnnStatus status;
    {
      const StrangeMode mode;
      status = call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, nullptr, self.on_device(), zero.on_device(),
                    int64_t{0}, beta, loss.on_device());
    }
    ASSERT_EQ(status, 0);
    loss.download();
    EXPECT_EQ(loss.get(0), double{kSubnormal} / (beta == 0 ? 2 : 8)) << beta;
  }
}

// 7 / 3 upward is another factor, of which other elements are the nearest.
TEST_F(FloatMode, sizes_are_divided_as_usual) {
  const int64_t inputs = 3;
  for (int64_t outputs = 4; outputs < 60; ++outputs) {
    Tensor self(DataType::kFloat, {1, 1, 1, 1, inputs}, Layout::kContiguous, ACL_FORMAT_NCDHW),
        usual(DataType::kFloat, {1, 1, 1, 1, outputs}, Layout::kContiguous, ACL_FORMAT_NCDHW),
        strange(DataType::kFloat, {1, 1, 1, 1, outputs}, Layout::kContiguous, ACL_FORMAT_NCDHW);
    self.fill({1, 2, 3});
    for (Tensor* each : {&self, &usual, &strange}) each->upload();
    const std::vector<int64_t> size{1, 1, outputs};
    aclIntArray* const sizes = aclCreateIntArray(size.data(), size.size());
    const auto upsample = [&](const Tensor& result) {
      return call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, nullptr, self.on_device(), sizes, 0.0,
                  0.0, 0.0, result.on_device());
    };
    aclnnStatus status;
    {
      const StrangeMode mode;
      status = upsample(strange);
    }
    ASSERT_EQ(status, 0);
    ASSERT_EQ(upsample(usual), 0);
    aclDestroyIntArray(sizes);
    usual.download();
    strange.download();
    for (int64_t i = 0; i < outputs; ++i) ASSERT_EQ(strange.get(i), usual.get(i)) << outputs << ", number " << i;
  }
}

}  // namespace
}  // namespace descend::test
