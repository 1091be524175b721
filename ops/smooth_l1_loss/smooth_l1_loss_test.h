// SPDX-License-Identifier: MIT
// What the tests of the smooth L1 loss share: cases, their tensors, and the comparison with the references.
#pragma once
#include <gtest/gtest.h>

#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"
#include "ops/smooth_l1_loss/smooth_l1_loss.h"
#include "tests/harness/call.h"
#include "tests/harness/dtypes.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test::smooth_l1_loss {

inline const float kInfinity = std::numeric_limits<float>::infinity();
// None, one that no difference is below, usual ones, no short binary fraction, above every half, larger than anything.
inline const std::vector<float> kBetas{0, 0x1p-149f, 0.3f, 1, 4, 1e30f, kInfinity};

struct Shapes {
  Sizes gradOut, self, target, gradInput;
};
inline const std::vector<Shapes> kShapes{
    {{}, {}, {}, {}},
    {{1}, {5}, {5}, {5}},
    {{}, {7, 300}, {7, 300}, {7, 300}},
    {{7, 300}, {7, 300}, {7, 300}, {7, 300}},
    {{37, 1}, {29}, {1, 29}, {37, 29}},
    {{3, 1, 170}, {3, 4, 1}, {170}, {3, 4, 170}},
    {{2, 1, 3, 1, 2, 2, 1, 5}, {1, 5}, {3, 1, 2, 1, 4, 1}, {2, 1, 3, 1, 2, 2, 4, 5}},
    {{}, {0, 4}, {1, 4}, {0, 4}},
    {{0}, {3, 1}, {1}, {3, 0}},
};

inline DataType promotion(DataType a, DataType b) { return *promote(a, b); }

// FLOAT within 2 ulp as the contract wants, the half kinds within 1.
inline int64_t bound(DataType rounded) { return rounded == DataType::kFloat ? 2 : 1; }

inline void expect_close(const Tensor& out, const Tensor& expected, DataType rounded, const std::string& where) {
  ASSERT_TRUE(out.untouched_outside()) << where;
  for (int64_t i = 0; i < out.size(); ++i) {
    // The bound is of the coarser of the two dtypes a result was rounded to.
    const int64_t apart = std::min(ulps_apart(rounded, out.get(i), expected.get(i)),
                                   ulps_apart(out.part_type(), out.get(i), expected.get(i)));
    ASSERT_LE(apart, bound(rounded)) << where << ", element " << i << ": " << out.get(i) << ", the reference has "
                                     << expected.get(i);
    if (is_complex(out.dtype())) {
      ASSERT_EQ(out.get(i, 1), 0.0) << where << ", element " << i << ": the imaginary part";
    }
  }
}

// Lengths without a common factor: every pair of values meets in a large tensor.
inline std::vector<double> numbers(DataType t, size_t length, uint64_t seed) {
  std::vector<double> v = landmarks(t, {0.3f, -0.3f, 4, -4, 0.15, 1e-3, 2, 3});
  Random random(seed);
  while (v.size() < length) v.push_back(random.next());
  return v;
}

inline std::string describe_case(const std::vector<const Tensor*>& tensors, int64_t reduction, float beta) {
  std::string text;
  for (const Tensor* t : tensors) text += cat(descend::describe(*t->on_host()), " ");
  return cat(text, "reduction ", reduction, " beta ", beta);
}

inline int32_t backward(const Tensor& gradOut, const Tensor& self, const Tensor& target, int64_t reduction, float beta,
                        const Tensor& gradInput, uint64_t* workspace = nullptr) {
  return call(aclnnSmoothL1LossBackwardGetWorkspaceSize, aclnnSmoothL1LossBackward, workspace, gradOut.on_device(),
              self.on_device(), target.on_device(), reduction, beta, gradInput.on_device());
}
inline int32_t forward(const Tensor& self, const Tensor& target, int64_t reduction, float beta, const Tensor& result,
                       uint64_t* workspace = nullptr) {
  return call(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss, workspace, self.on_device(), target.on_device(),
              reduction, beta, result.on_device());
}

struct Dtypes4 {
  DataType gradOut, self, target, gradInput;
};
struct Layouts4 {
  Layout gradOut = Layout::kContiguous, self = Layout::kContiguous, target = Layout::kContiguous,
         gradInput = Layout::kContiguous;
};

inline void check_backward(const Dtypes4& t, const Shapes& s, const Layouts4& l, int64_t reduction, float beta) {
  Tensor gradOut(t.gradOut, s.gradOut, l.gradOut), self(t.self, s.self, l.self), target(t.target, s.target, l.target);
  Tensor out(t.gradInput, s.gradInput, l.gradInput), expected(t.gradInput, s.gradInput, l.gradInput);
  const std::string where = describe_case({&gradOut, &self, &target, &out}, reduction, beta);
  gradOut.fill(numbers(t.gradOut, 53, 1), 13);  // a lone one is 0.3: 0 or NaN would hide the rest
  self.fill(numbers(t.self, 61, 2));
  target.fill(numbers(t.target, 47, 3), 6);
  for (Tensor* tensor : {&gradOut, &self, &target, &out}) tensor->upload();
  uint64_t workspace = 1;
  ASSERT_EQ(backward(gradOut, self, target, reduction, beta, out, &workspace), 0) << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  SmoothL1LossBackward::Params p{gradOut.on_host(), self.on_host(), target.on_host(),
                                 reduction,         beta,           expected.on_host()};
  find_operator("aclnnSmoothL1LossBackward")->reference(&p);
  expect_close(out, expected, promotion(promotion(t.gradOut, t.self), t.target), where);
}

inline void check_forward(DataType a, DataType b, DataType r, const Shapes& s, Layout la, Layout lb, Layout lr,
                          int64_t reduction, float beta, bool with_landmarks) {
  Sizes loss = reduction == 0 ? s.gradInput : Sizes{1, 1};
  Tensor self(a, s.self, la), target(b, s.target, lb), out(r, loss, lr), expected(r, loss, lr);
  const std::string where = describe_case({&self, &target, &out}, reduction, beta);
  self.fill(numbers(a, 61, 2));
  target.fill(numbers(b, 47, 3), 6);
  if (!with_landmarks)  // one infinity makes every sum infinite
    for (Tensor* t : {&self, &target}) {
      Random random(t == &self ? 4 : 5);
      for (int64_t i = 0; i < t->size(); ++i) t->set(i, random.next());
    }
  for (Tensor* tensor : {&self, &target, &out}) tensor->upload();
  uint64_t workspace = 1;
  ASSERT_EQ(forward(self, target, reduction, beta, out, &workspace), 0) << where << ": " << recent_error();
  ASSERT_EQ(workspace, 0u) << where;
  out.download();
  SmoothL1Loss::Params p{self.on_host(), target.on_host(), reduction, beta, expected.on_host()};
  find_operator("aclnnSmoothL1Loss")->reference(&p);
  expect_close(out, expected, promotion(a, b), where);
}

class SmoothL1LossOperators : public testing::Test {
  OnDevice on_device_;
};

}  // namespace descend::test::smooth_l1_loss
