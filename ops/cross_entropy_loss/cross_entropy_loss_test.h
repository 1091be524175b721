// SPDX-License-Identifier: MIT
// What the tests of the cross entropy share: cases, their tensors, and the comparison with the references.
#pragma once
#include <gtest/gtest.h>

#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "ops/cross_entropy_loss/cross_entropy_loss.h"
#include "tests/harness/call.h"
#include "tests/harness/dtypes.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"
#include "tests/harness/variable.h"

namespace descend::test::cross_entropy_loss {

inline const std::vector<const char*> kReductions{"none", "mean", "sum", nullptr};
inline const double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::nan("");
inline constexpr int64_t kIgnored = -100;
inline constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min(),
                         kLargest = std::numeric_limits<int64_t>::max();

inline char* text(const char* t) { return const_cast<char*>(t); }  // as the API takes it
inline bool is_none(const char* reduction) { return reduction && std::string(reduction) == "none"; }
inline bool is_mean(const char* reduction) { return !reduction || std::string(reduction) == "mean"; }

// What a call is about, and the views of its tensors.
struct Case {
  int64_t rows = 37, classes = 53;
  DataType dtype = DataType::kFloat;
  const char* reduction = "mean";
  double smoothing = 0;
  bool weighted = false;
  int64_t ignored = kIgnored;
  Layout from = Layout::kContiguous, to = Layout::kContiguous, labels = Layout::kContiguous;
  DataType index = DataType::kInt64;
  double zloss = 0;  // lseSquareScaleForZloss; the z-loss's tensors are given when it is not 0

  std::string words() const {
    return cat("(", rows, ",", classes, ") ", descend::name(dtype), " ", reduction ? reduction : "null", " smoothing ",
               smoothing, " weights ", weighted, " ", name(from), " to ", name(to), ", labels ", name(labels));
  }
  Sizes loss_shape() const { return is_none(reduction) ? Sizes{rows} : Sizes{}; }
};

inline void fill_labels(Tensor& target, Tensor& weight, const Case& c) {
  const bool wide = c.index == DataType::kInt64;
  for (int64_t i = 0; i < c.rows; ++i) target.set_integer(i, (i * 7 + 1) % c.classes);
  const std::vector<int64_t> odd{c.ignored, -1, c.classes, wide ? kSmallest : -7, wide ? kLargest : 1 << 30};
  for (size_t k = 0; k < odd.size(); ++k)
    if (const auto at = static_cast<int64_t>(5 * k + 3); at < c.rows) target.set_integer(at, odd[k]);
  for (int64_t j = 0; j < c.classes; ++j) weight.set(j, 0.25 + static_cast<double>(j * 5 % 11) / 8);
  target.upload();
  weight.upload();
}

struct Gradient {
  Case c;
  Tensor gradLoss, logProb, target, weight, gradZloss, lse, out;

  explicit Gradient(const Case& of)
      : c(of),
        gradLoss(c.dtype, c.loss_shape(), c.labels),
        logProb(c.dtype, {c.rows, c.classes}, c.from),
        target(c.index, {c.rows}, c.labels),
        weight(DataType::kFloat, {c.classes}, c.labels),
        gradZloss(c.dtype, c.loss_shape()),
        lse(c.dtype, {c.rows}, c.labels),
        out(c.dtype, {c.rows, c.classes}, c.to) {
    gradLoss.fill({0.7, -1.3, 2.5, 1e-3, 40}, 0);
    gradZloss.fill({0.2, 0.4});
    lse.fill({3.1, -2.2, 0.4, 5.5});
    Random random(3);
    for (int64_t i = 0; i < logProb.size(); ++i) logProb.set(i, -std::fabs(random.next()));
    fill_labels(target, weight, c);
    upload();
  }
  void upload() {
    for (Tensor* t : {&gradLoss, &logProb, &target, &weight, &gradZloss, &lse, &out}) t->upload();
  }
  int32_t run(uint64_t* workspace = nullptr) { return run(*this, out, workspace); }
  static int32_t run(const Gradient& g, const Tensor& to, uint64_t* workspace = nullptr) {
    const Case& c = g.c;
    return call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, workspace, g.gradLoss.on_device(),
                g.logProb.on_device(), g.target.on_device(), c.weighted ? g.weight.on_device() : nullptr,
                c.zloss != 0 ? g.gradZloss.on_device() : nullptr, c.zloss != 0 ? g.lse.on_device() : nullptr,
                text(c.reduction), c.ignored, c.smoothing, c.zloss, to.on_device());
  }
  // Runs and answers what the reference has.
  void expect_right() {
    const std::string where = c.words();
    uint64_t workspace = 1;
    ASSERT_EQ(run(&workspace), 0) << where << ": " << recent_error();
    ASSERT_EQ(workspace, 0u) << where;
    out.download();
    ASSERT_TRUE(out.untouched_outside()) << where;
    Tensor expected(c.dtype, {c.rows, c.classes}, c.to);
    CrossEntropyLossGrad::Params p{gradLoss.on_host(),
                                   logProb.on_host(),
                                   target.on_host(),
                                   c.weighted ? weight.on_host() : nullptr,
                                   c.zloss != 0 ? gradZloss.on_host() : nullptr,
                                   c.zloss != 0 ? lse.on_host() : nullptr,
                                   c.reduction,
                                   c.ignored,
                                   c.smoothing,
                                   c.zloss,
                                   expected.on_host()};
    find_operator("aclnnCrossEntropyLossGrad")->reference(&p);
    for (int64_t i = 0; i < out.size(); ++i) {
      const double got = out.get(i), want = expected.get(i);
      if (ulps_apart(c.dtype, got, want) <= bound()) continue;
      // With smoothing two numbers are subtracted: the bound is of the larger.
      const double g = gradLoss.get(is_none(c.reduction) ? i / c.classes : 0);
      const double w = c.weighted ? weight.get(i % c.classes) : 1;
      const double large = std::fabs(want) + std::fabs(2 * g * c.smoothing / static_cast<double>(c.classes) * w);
      ASSERT_TRUE(c.smoothing != 0 && std::fabs(got - want) <= static_cast<double>(bound()) * unit(large))
          << where << ", element " << i << ": " << got << ", the reference has " << want;
    }
  }
  int64_t bound() const { return c.dtype == DataType::kFloat ? 2 : 1; }
  double unit(double x) const {
    const int bits = c.dtype == DataType::kFloat ? 24 : c.dtype == DataType::kFloat16 ? 11 : 8;
    return std::ldexp(1.0, std::ilogb(x) + 1 - bits);
  }
};

struct Loss {
  Case c;
  Tensor input, target, weight, loss, logProb, zloss, lse;
  bool returnZloss = true;

  explicit Loss(const Case& of)
      : c(of),
        input(c.dtype, {c.rows, c.classes}, c.from),
        target(c.index, {c.rows}, c.labels),
        weight(DataType::kFloat, {c.classes}, c.labels),
        loss(c.dtype, c.loss_shape(), c.labels),
        logProb(c.dtype, {c.rows, c.classes}, c.to),
        zloss(c.dtype, c.loss_shape()),
        lse(c.dtype, {c.rows}, c.labels) {
    Random random(5);
    for (int64_t i = 0; i < input.size(); ++i) input.set(i, random.next());
    fill_labels(target, weight, c);
    for (Tensor* t : {&input, &loss, &logProb, &zloss, &lse}) t->upload();
  }
  int32_t run(uint64_t* workspace = nullptr) { return run(*this, logProb, workspace); }
  static int32_t run(const Loss& l, const Tensor& to, uint64_t* workspace = nullptr) {
    const Case& c = l.c;
    return call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, workspace, l.input.on_device(),
                l.target.on_device(), c.weighted ? l.weight.on_device() : nullptr, text(c.reduction), c.ignored,
                c.smoothing, c.zloss, l.returnZloss, l.loss.on_device(), to.on_device(), l.zloss.on_device(),
                l.lse.on_device());
  }
  void download() {
    for (Tensor* t : {&loss, &logProb, &zloss, &lse}) t->download();
  }
  void expect_right() {
    const std::string where = c.words();
    uint64_t workspace = 1;
    ASSERT_EQ(run(&workspace), 0) << where << ": " << recent_error();
    ASSERT_EQ(workspace, 0u) << where;
    download();
    Tensor expected_loss(c.dtype, c.loss_shape()), expected(c.dtype, {c.rows, c.classes});
    Tensor expected_zloss(c.dtype, c.loss_shape()), expected_lse(c.dtype, {c.rows});
    CrossEntropyLoss::Params p{input.on_host(),
                               target.on_host(),
                               c.weighted ? weight.on_host() : nullptr,
                               c.reduction,
                               c.ignored,
                               c.smoothing,
                               c.zloss,
                               returnZloss,
                               expected_loss.on_host(),
                               expected.on_host(),
                               expected_zloss.on_host(),
                               expected_lse.on_host()};
    find_operator("aclnnCrossEntropyLoss")->reference(&p);
    const auto compare = [&](const Tensor& got, const Tensor& want, const char* which) {
      ASSERT_TRUE(got.untouched_outside()) << where << " " << which;
      for (int64_t i = 0; i < got.size(); ++i)
        ASSERT_LE(ulps_apart(c.dtype, got.get(i), want.get(i)), c.dtype == DataType::kFloat ? 2 : 1)
            << where << ", " << which << " " << i << ": " << got.get(i) << ", the reference has " << want.get(i);
    };
    compare(logProb, expected, "logProb");
    compare(loss, expected_loss, "loss");
    if (!has_extension("zloss") || !returnZloss) return;
    compare(zloss, expected_zloss, "zloss");
    compare(lse, expected_lse, "lse");
  }
};

class CrossEntropyLossOperators : public testing::Test {
  OnDevice on_device_;
};

}  // namespace descend::test::cross_entropy_loss
