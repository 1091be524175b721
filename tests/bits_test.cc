// SPDX-License-Identifier: MIT
// The same bits for the same values: whatever the number of threads, the layout, the alignment or the SIMD target.
#include <gtest/gtest.h>

#include <cstdlib>

#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/targets.h"
#include "src/base/environment.h"
#include "tests/harness/call.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

// The results of ELU and both its gradients for the same inputs, as bits in logical order; a NaN is one NaN.
std::string digest(DataType dtype, const Sizes& shape, Layout in, Layout out) {
  Tensor gradOutput(dtype, shape, in), self(dtype, shape, in), result(dtype, shape, out);
  Random random(11);
  std::vector<double> values = landmarks(dtype, {-0.21, -87.5, -104, 89});
  while (values.size() < 1009) values.push_back(random.next());
  gradOutput.fill(values, 500);
  self.fill(values);
  for (Tensor* t : {&gradOutput, &self}) t->upload();
  const Scalar alpha(0.3), scale(0.7), inputScale(1.1);
  std::string bits;
  const auto keep = [&](int status) {
    EXPECT_EQ(status, 0) << recent_error();
    result.download();
    for (int64_t i = 0; i < result.size(); ++i) bits += std::isnan(result.get(i)) ? "NaN" : result.bits(i);
  };
  keep(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, self.on_device(), alpha, scale, inputScale,
            result.on_device()));
  if (dtype == DataType::kDouble) return bits;
  for (bool is_result : {false, true})
    keep(call(aclnnEluBackwardGetWorkspaceSize, aclnnEluBackward, nullptr, gradOutput.on_device(), alpha, scale,
              inputScale, is_result, self.on_device(), result.on_device()));
  return bits;
}

const std::vector<DataType> kDtypes{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16, DataType::kDouble};

class SameBits : public testing::Test {
  OnDevice on_device_;
};

TEST_F(SameBits, for_any_layout) {
  for (DataType dtype : kDtypes)
    for (const Sizes& shape : {Sizes{1009}, Sizes{67, 129}, Sizes{3, 5, 7, 11}}) {
      const std::string expected = digest(dtype, shape, Layout::kContiguous, Layout::kContiguous);
      for (Layout in : output_layouts())  // broadcasting changes the values
        for (Layout out : output_layouts())
          ASSERT_EQ(digest(dtype, shape, in, out), expected)
              << descend::name(dtype) << " " << name(in) << " to " << name(out);
    }
}

TEST_F(SameBits, for_any_length) {
  // Tails are computed like full vectors: a prefix of the inputs gives a prefix of the results.
  for (DataType dtype : kDtypes) {
    const size_t item = size_of(dtype);
    Tensor self(dtype, {70}), all(dtype, {70});
    Random random(12);
    for (int64_t i = 0; i < 70; ++i) self.set(i, random.next());
    self.upload();
    const Scalar one(1);
    ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, self.on_device(), one, one, one, all.on_device()), 0);
    all.download();
    for (int64_t first : {0, 1, 3})  // any alignment
      for (int64_t n = 1; n + first <= 70; ++n) {
        Tensor some(dtype, {n});
        some.upload();
        const int64_t shape[] = {n};
        aclTensor* part = aclCreateTensor(shape, 1, static_cast<aclDataType>(dtype), nullptr, 16 + first, ACL_FORMAT_ND,
                                          shape, 1, self.device_data());
        ASSERT_EQ(call(aclnnEluGetWorkspaceSize, aclnnElu, nullptr, part, one, one, one, some.on_device()), 0);
        ASSERT_EQ(aclDestroyTensor(part), 0);
        some.download();
        ASSERT_TRUE(some.untouched_outside()) << n;
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(some.bits(i), all.bits(first + i)) << descend::name(dtype) << item << " " << n;
      }
  }
}

TEST_F(SameBits, for_any_number_of_threads) {
  const Sizes shape{700, 301};  // several chunks
  for (DataType dtype : kDtypes) {
    std::vector<std::string> digests;
    for (const char* threads : {"1", "2", "3", "7"}) {
      setenv("DESCEND_THREADS", threads, 1);
      reread_environment();
      ASSERT_EQ(parallel_width(), std::atoi(threads));
      digests.push_back(digest(dtype, shape, Layout::kContiguous, Layout::kTransposed));
    }
    unsetenv("DESCEND_THREADS");
    reread_environment();
    for (const std::string& d : digests) EXPECT_TRUE(d == digests[0]) << descend::name(dtype);
  }
}

TEST_F(SameBits, for_any_simd_target) {
  ASSERT_GE(cpu_targets().size(), 2u);  // SCALAR is always there to compare with
  for (DataType dtype : kDtypes) {
    const std::string expected = digest(dtype, {67, 129}, Layout::kContiguous, Layout::kContiguous);
    for (std::string_view target : cpu_targets()) {
      ASSERT_TRUE(set_cpu_target(target));
      ASSERT_EQ(cpu_target(), target);
      for (Layout out : {Layout::kContiguous, Layout::kEverySecond})
        EXPECT_TRUE(digest(dtype, {67, 129}, Layout::kContiguous, out) == expected)
            << descend::name(dtype) << " on " << target;
    }
    set_cpu_target({});
  }
}

}  // namespace
}  // namespace descend::test
