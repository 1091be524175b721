// SPDX-License-Identifier: MIT
// What the tests of the negative log likelihood loss share: cases, their tensors, and the comparison with the
// references.
#pragma once
#include <gtest/gtest.h>

#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"
#include "ops/nll_loss/nll_loss.h"
#include "tests/harness/call.h"
#include "tests/harness/dtypes.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test::nll_loss {

inline constexpr int64_t kNone = 0, kMean = 1, kSum = 2;
inline constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One class, one position, planes that fill no vector, one tile and several; more classes than a table has.
inline const std::vector<Sizes> kPlanes{{1, 1, 1, 1}, {3, 5, 1, 1}, {2, 3, 5, 7}, {1, 4, 16, 40}, {2, 600, 3, 3},
                                        {3, 1, 9, 7}, {2, 2, 1, 2}, {0, 3, 2, 2}, {2, 0, 3, 3},   {2, 3, 0, 4}};
inline const std::vector<Sizes> kRows{{1}, {7}, {5, 3}, {1, 1}, {700, 2}, {3, 40}, {6, 1}, {2, 700}, {0, 4}, {0, 0}};

inline Sizes positions_of(const Sizes& self) {
  Sizes left = self;
  left.erase(left.begin() + (self.size() > 1));
  return left;
}
inline int64_t classes_of(const Sizes& self) { return self[self.size() > 1]; }

inline int32_t forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                       int64_t ignoreIndex, const Tensor& out, const Tensor& total, uint64_t* workspace = nullptr) {
  const bool planes = self.shape().size() == 4;
  return call(planes ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize,
              planes ? aclnnNLLLoss2d : aclnnNLLLoss, workspace, self.on_device(), target.on_device(),
              weight.on_device(), reduction, ignoreIndex, out.on_device(), total.on_device());
}
inline int32_t backward_of(const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target,
                           const aclTensor* weight, int64_t reduction, int64_t ignoreIndex, aclTensor* total,
                           aclTensor* out, uint64_t* workspace = nullptr) {
  if (self->shape.size() == 4)
    return call(aclnnNLLLoss2dBackwardGetWorkspaceSize, aclnnNLLLoss2dBackward, workspace, gradOutput, self, target,
                weight, reduction, ignoreIndex, total, out);
  return call(aclnnNLLLossBackwardGetWorkspaceSize, aclnnNLLLossBackward, workspace, gradOutput, self, target, weight,
              reduction, ignoreIndex, total, out);
}
inline int32_t backward(const Tensor& gradOutput, const Tensor& self, const Tensor& target, const Tensor& weight,
                        int64_t reduction, int64_t ignoreIndex, const Tensor& total, const Tensor& out,
                        uint64_t* workspace = nullptr) {
  return backward_of(gradOutput.on_device(), self.on_device(), target.on_device(), weight.on_device(), reduction,
                     ignoreIndex, total.on_device(), out.on_device(), workspace);
}

// Every class, and numbers that are none: those around the classes and the ends of every dtype.
inline void fill_targets(Tensor& target, int64_t classes) {
  const int64_t strange[] = {-1, classes, kLeast, kMost, -100, classes + 1, int64_t{1} << 32, 255};
  Random random(3);
  for (int64_t i = 0; i < target.size(); ++i) {
    const auto r = static_cast<int64_t>(random.bits() >> 1);
    target.set_integer(i, r % 4 == 0 ? strange[r / 4 % 8] : classes == 0 ? 0 : r / 4 % classes);
  }
}
inline void fill_random(Tensor& t, uint64_t seed) {
  Random random(seed);
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, random.next());
}

inline void expect_close(const Tensor& out, const Tensor& expected, DataType rounded, int64_t bound,
                         const std::string& where) {
  ASSERT_TRUE(out.untouched_outside()) << where;
  for (int64_t i = 0; i < out.size(); ++i) {
    // The bound is of the coarser of the two dtypes a result was rounded to.
    const int64_t apart = std::min(ulps_apart(rounded, out.get(i), expected.get(i)),
                                   ulps_apart(out.part_type(), out.get(i), expected.get(i)));
    ASSERT_LE(apart, bound) << where << ", element " << i << ": " << out.get(i) << ", the reference has "
                            << expected.get(i);
    if (is_complex(out.dtype())) {
      ASSERT_EQ(out.get(i, 1), 0.0) << where << ", element " << i << ": the imaginary part";
    }
  }
}

struct Case {
  Sizes self;
  DataType dtype = DataType::kFloat, target = DataType::kInt64, out = DataType::kFloat;
  int64_t reduction = kNone, ignoreIndex = -100;
  Layout self_layout = Layout::kContiguous, target_layout = Layout::kContiguous, out_layout = Layout::kContiguous,
         weight_layout = Layout::kContiguous, gradient_layout = Layout::kContiguous;
  Sizes weight = {};  // its shape, when it is not one dimension
  bool specials = false;
};
inline std::string describe_case(const Case& c) {
  return cat(descend::describe(Dims(c.self.data(), c.self.size())), " ", descend::name(c.dtype), " targets ",
             descend::name(c.target), " to ", descend::name(c.out), " reduction ", c.reduction, " ignoring ",
             c.ignoreIndex, ": self ", name(c.self_layout), ", target ", name(c.target_layout), ", out ",
             name(c.out_layout), ", weight ", name(c.weight_layout), ", gradOutput ", name(c.gradient_layout));
}

inline void check_backward(const Case& c) {
  const std::string where = cat("gradient of ", describe_case(c));
  const Sizes weights = c.weight.empty() ? Sizes{classes_of(c.self)} : c.weight;
  const Sizes positions = positions_of(c.self), gradient = c.reduction == kNone ? positions : Sizes{1};
  Tensor gradOutput(c.dtype, gradient, c.gradient_layout), self(c.dtype, c.self, c.self_layout),
      target(c.target, positions, c.target_layout), weight(c.dtype, weights, c.weight_layout), total(c.dtype, {1, 1}),
      out(c.out, c.self, c.out_layout), expected(c.out, c.self, c.out_layout);
  fill_random(gradOutput, 1);
  fill_random(weight, 2);
  if (c.specials) gradOutput.fill(landmarks(c.dtype), 6), weight.fill(landmarks(c.dtype, {0.3, -7, 1e-3, 100}));
  fill_targets(target, classes_of(c.self));
  total.fill({3.7});
  for (Tensor* t : {&gradOutput, &self, &target, &weight, &total, &out}) t->upload();
  uint64_t workspace = 1;
  ASSERT_EQ(backward(gradOutput, self, target, weight, c.reduction, c.ignoreIndex, total, out, &workspace), 0)
      << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  NLLLossBackwardParams p{gradOutput.on_host(), self.on_host(), target.on_host(), weight.on_host(),
                          c.reduction,          c.ignoreIndex,  total.on_host(),  expected.on_host()};
  find_operator(c.self.size() == 4 ? "aclnnNLLLoss2dBackward" : "aclnnNLLLossBackward")->reference(&p);
  // One product, rounded once; the mean has a quotient in double before it.
  expect_close(out, expected, c.dtype, c.reduction == kMean ? 1 : 0, where);
}

inline void check_forward(const Case& c) {
  const std::string where = cat("loss of ", describe_case(c));
  const Sizes weights = c.weight.empty() ? Sizes{classes_of(c.self)} : c.weight;
  const Sizes positions = positions_of(c.self), loss = c.reduction == kNone ? positions : Sizes{1, 1, 1};
  Tensor self(c.dtype, c.self, c.self_layout), target(c.target, positions, c.target_layout),
      weight(c.dtype, weights, c.weight_layout);
  Tensor out(c.out, loss, c.out_layout), expected(c.out, loss, c.out_layout), total(c.out, {1}),
      expected_total(c.out, {1});
  fill_random(self, 1);
  fill_random(weight, 2);
  if (c.specials) self.fill(landmarks(c.dtype), 6), weight.fill(landmarks(c.dtype, {0.3, -7, 1e-3, 100}));
  fill_targets(target, classes_of(c.self));
  for (Tensor* t : {&self, &target, &weight, &out, &total}) t->upload();
  uint64_t workspace = 1;
  ASSERT_EQ(forward(self, target, weight, c.reduction, c.ignoreIndex, out, total, &workspace), 0)
      << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  total.download();
  NLLLossParams p{self.on_host(), target.on_host(),   weight.on_host(),        c.reduction,
                  c.ignoreIndex,  expected.on_host(), expected_total.on_host()};
  find_operator(c.self.size() == 4 ? "aclnnNLLLoss2d" : "aclnnNLLLoss")->reference(&p);
  expect_close(out, expected, c.dtype, c.reduction == kNone ? 0 : 1, where);
  if (c.reduction == kNone)  // as it was: poison
    ASSERT_EQ(total.bits(0), expected_total.bits(0)) << where;
  else
    expect_close(total, expected_total, c.dtype, 1, where);
}

class NLLLossOperators : public testing::Test {
  OnDevice on_device_;
};

}  // namespace descend::test::nll_loss
