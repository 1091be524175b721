// SPDX-License-Identifier: MIT
// The floating-point mode of a program's threads is its own: results do not depend on it, and it stays as it is.
#include <fenv.h>

#include <cmath>

#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "src/base/usual_floats.h"
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
  StrangeMode() {
    fegetenv(&before_);
    fesetround(FE_UPWARD);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    set_flags(flags() | kFlush);
  }
  ~StrangeMode() { fesetenv(&before_); }
  StrangeMode(const StrangeMode&) = delete;
  StrangeMode& operator=(const StrangeMode&) = delete;
  static bool is_on() { return fegetround() == FE_UPWARD && (flags() & kFlush) == kFlush; }

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kFlush = 0x8040;  // results, and operands
  static uint64_t flags() { return _mm_getcsr(); }
  static void set_flags(uint64_t flags) { _mm_setcsr(static_cast<unsigned>(flags)); }
#else
  static constexpr uint64_t kFlush = 1 << 24;
  static uint64_t flags() {
    uint64_t flags;
    asm volatile("mrs %0, fpcr" : "=r"(flags));
    return flags;
  }
  static void set_flags(uint64_t flags) { asm volatile("msr fpcr, %0" ::"r"(flags) : "memory"); }
#endif
  fenv_t before_;
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

// x86-64's long double: what has happened traps at the unit's next instruction, when it is no longer masked.
TEST_F(FloatMode, what_others_did_before_or_we_did_meanwhile_does_not_trap) {
  volatile long double zero = 0, result = 0;
  result = zero / zero;
  {
    const StrangeMode mode;
    const UsualFloats usual;
    result = result + 1;
  }
  feclearexcept(FE_ALL_EXCEPT);
  {
    const StrangeMode mode;
    {
      const UsualFloats usual;
      result = zero / zero;
    }
    result = zero + 1;
  }
  EXPECT_EQ(result, 1);
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

// What the call raises is not trapped later either: the reference computes with long double, whose instructions look at
// what earlier ones have raised.
TEST_F(FloatMode, nothing_of_a_call_is_trapped_after_it) {
  feclearexcept(FE_ALL_EXCEPT);  // what tests before have raised would trap at the addition below
  const Scalar one(1), zero(0), large(1e30f);
  for (const aclScalar* const scale :
       {static_cast<const aclScalar*>(zero), static_cast<const aclScalar*>(large)}) {  // NaN and infinities
    Tensor in(DataType::kFloat, {3}), out(DataType::kFloat, {3});
    in.fill({-1, 1e30, HUGE_VAL});
    in.upload();
    out.upload();
    volatile long double own = 1;
    aclnnStatus status;
    {
      const StrangeMode mode;
      status = call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, in.on_device(), one, scale, one, out.on_device());
      own = own + 1;
    }
    ASSERT_EQ(status, 0);
    EXPECT_EQ(own, 2);
    out.download();
    EXPECT_FALSE(std::isfinite(out.get(2)));
  }
}

TEST_F(FloatMode, what_the_program_has_raised_stays) {
  volatile long double zero = 0, own = 1;
  const StrangeMode mode;
  fedisableexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
  own = own / zero;
  {
    const UsualFloats here;
    own = zero / zero;
  }
  EXPECT_TRUE(fetestexcept(FE_DIVBYZERO));
  EXPECT_TRUE(StrangeMode::is_on());
  EXPECT_TRUE(std::isnan(own));
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

// 14 / 46 upward is another factor, with which element 23 has another source.
TEST_F(FloatMode, sizes_are_divided_as_usual) {
  constexpr int64_t kInputs = 14, kOutputs = 46;
  Tensor self(DataType::kFloat, {1, 1, 1, 1, kInputs}, Layout::kContiguous, ACL_FORMAT_NCDHW),
      out(DataType::kFloat, {1, 1, 1, 1, kOutputs}, Layout::kContiguous, ACL_FORMAT_NCDHW);
  for (int64_t i = 0; i < kInputs; ++i) self.set(i, static_cast<double>(i));
  self.upload();
  out.upload();
  const int64_t size[] = {1, 1, kOutputs};
  aclIntArray* const sizes = aclCreateIntArray(size, 3);
  aclnnStatus status;
  {
    const StrangeMode mode;
    status = call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, nullptr, self.on_device(), sizes, 0.0,
                  0.0, 0.0, out.on_device());
  }
  ASSERT_EQ(status, 0);
  aclDestroyIntArray(sizes);
  out.download();
  const float factor = static_cast<float>(kInputs) / static_cast<float>(kOutputs);
  for (int64_t i = 0; i < kOutputs; ++i)
    EXPECT_EQ(out.get(i), std::floor(static_cast<float>(i) * factor)) << "number " << i;
}

}  // namespace
}  // namespace descend::test
