// SPDX-License-Identifier: MIT
// The cross entropy and its gradient through the C API, against their references.
#include "ops/cross_entropy_loss/cross_entropy_loss_test.h"

namespace descend::test::cross_entropy_loss {
namespace {

TEST_F(CrossEntropyLossOperators, agree_with_the_references_for_all_dtypes_and_numbers) {
  for (DataType dtype : kFloats)
    for (const char* reduction : kReductions)
      for (double smoothing : {0.0, 0.1, 1.0})
        for (bool weighted : {false, true}) {
          const Case c{.dtype = dtype, .reduction = reduction, .smoothing = smoothing, .weighted = weighted};
          Gradient(c).expect_right();
          Loss(c).expect_right();
        }
}

TEST_F(CrossEntropyLossOperators, agree_with_the_references_for_all_layouts) {
  size_t next = 0;
  for (Layout from : all_layouts())
    for (Layout to : output_layouts())
      for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{21, 37}, {3, 700}, {70, 2}}) {
        const Layout labels = output_layouts()[next % 5];
        const Case c{.rows = rows,
                     .classes = classes,
                     .dtype = kFloats[next % 3],
                     .reduction = kReductions[next / 3 % 3],
                     .smoothing = next % 2 ? 0.1 : 0,
                     .weighted = next / 2 % 2 == 1,
                     .from = from,
                     .to = to,
                     .labels = labels};
        Gradient(c).expect_right();
        Loss(c).expect_right();
        ++next;
      }
}

TEST_F(CrossEntropyLossOperators, agree_with_the_references_at_the_edges_of_shapes) {
  for (int64_t rows : {1, 2, 33})
    for (int64_t classes : {1, 2, 3, 7, 8, 16, 17, 32, 33, 511, 512, 513})
      for (double smoothing : {0.0, 0.2})
        for (bool weighted : {false, true}) {
          const Case c{
              .rows = rows, .classes = classes, .reduction = "sum", .smoothing = smoothing, .weighted = weighted};
          Gradient(c).expect_right();
          Loss(c).expect_right();
        }
}

// So many that a GPU has many blocks of them, the last of which is not full.
TEST_F(CrossEntropyLossOperators, gradient_agrees_with_the_reference_for_many_short_rows) {
  for (bool weighted : {false, true}) {
    Gradient({.rows = 26001, .classes = 16, .weighted = weighted}).expect_right();
    Gradient({.rows = 26001, .classes = 16, .reduction = "none", .weighted = weighted}).expect_right();
  }
  Gradient({.rows = 102001, .classes = 32, .dtype = DataType::kFloat16}).expect_right();
  const Variable soc("DESCEND_SOC", "Ascend950PR_9599");
  for (DataType index : {DataType::kInt64, DataType::kInt32})
    for (Layout labels : {Layout::kContiguous, Layout::kEverySecond, Layout::kOffset})
      for (int64_t rows : {601, 602, 603, 9001})
        Gradient({.rows = rows, .classes = 16, .labels = labels, .index = index}).expect_right();
  for (DataType dtype : kFloats)
    for (const auto& [rows, classes] :
         std::vector<std::pair<int64_t, int64_t>>{{700, 32}, {700, 33}, {700, 1000}, {700, 1001}, {3, 1001}})
      for (double smoothing : {0.0, 0.1}) {
        Gradient none_counts({.rows = rows, .classes = classes, .dtype = dtype, .smoothing = smoothing});
        for (int64_t row = 0; row < rows; ++row) none_counts.target.set_integer(row, kIgnored);
        none_counts.upload();
        none_counts.expect_right();
        EXPECT_TRUE(std::isnan(none_counts.out.get(0)));
      }
}

TEST_F(CrossEntropyLossOperators, agree_with_the_references_at_landmarks) {
  for (DataType dtype : kFloats)
    for (const char* reduction : {"none", "mean"}) {
      // Every landmark is the label's once.
      const std::vector<double> values = landmarks(dtype, {-80, -87.5, -95, -103.5, -104, 60, 88, 89, -1e-6, -30, 100});
      const auto n = static_cast<int64_t>(values.size());
      for (double gradient : {1.0, 3e-5, 300.0, 0.0, kInfinity, kNan}) {
        Gradient g({.rows = n, .classes = n, .dtype = dtype, .reduction = reduction});
        g.logProb.fill(values);
        g.gradLoss.fill({gradient});
        for (int64_t i = 0; i < n; ++i) g.target.set_integer(i, i);
        g.upload();
        g.expect_right();
      }
      // A row a landmark, with usual scores: an infinite or missing one is the row's.
      Loss l({.rows = n, .classes = 9, .dtype = dtype, .reduction = "none", .smoothing = 0.1});
      for (int64_t i = 0; i < n; ++i) l.input.set(i * 9 + i % 9, values[static_cast<size_t>(i)]);
      l.input.upload();
      l.expect_right();
    }
}

TEST_F(CrossEntropyLossOperators, zloss_has_no_effect_without_its_extension) {
  for (const char* extensions : {"", "other", "zlossy,zlos"}) {
    const Variable variable("DESCEND_EXTENSIONS", extensions);
    Gradient plain(Case{}), with(Case{.zloss = 0.5});
    with.lse.fill({kNan});
    with.upload();
    ASSERT_EQ(plain.run(), 0);
    ASSERT_EQ(with.run(), 0);
    plain.out.download();
    with.out.download();
    for (int64_t i = 0; i < plain.out.size(); ++i) ASSERT_EQ(plain.out.bits(i), with.out.bits(i));
    Loss without(Case{}), l(Case{.zloss = 0.5});
    const std::string zloss = l.zloss.bits(0), lse = l.lse.bits(5);
    ASSERT_EQ(without.run(), 0);
    ASSERT_EQ(l.run(), 0);
    without.download();
    l.download();
    EXPECT_EQ(l.loss.bits(0), without.loss.bits(0));
    EXPECT_EQ(l.zloss.bits(0), zloss);
    EXPECT_EQ(l.lse.bits(5), lse);
    // Their shapes are nobody's business then; that they are tensors of the dtype is.
    Tensor odd(DataType::kFloat, {2, 5}), other(DataType::kInt32, {37});
    const auto grad = [&](const Tensor& lse_for_zloss) {
      return call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr,
                  plain.gradLoss.on_device(), plain.logProb.on_device(), plain.target.on_device(), nullptr,
                  odd.on_device(), lse_for_zloss.on_device(), text("mean"), kIgnored, 0.0, 0.5, plain.out.on_device());
    };
    EXPECT_EQ(grad(odd), 0) << recent_error();
    EXPECT_EQ(grad(other), 161002);
    EXPECT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, l.input.on_device(),
                   l.target.on_device(), nullptr, text("mean"), kIgnored, 0.0, 0.5, true, l.loss.on_device(),
                   l.logProb.on_device(), odd.on_device(), odd.on_device()),
              0)
        << recent_error();
  }
}

TEST_F(CrossEntropyLossOperators, zloss_agrees_with_the_references_with_its_extension) {
  const Variable variable("DESCEND_EXTENSIONS", "other,zloss");
  for (DataType dtype : kFloats)
    for (const char* reduction : kReductions)
      for (bool weighted : {false, true}) {
        const Case c{.dtype = dtype, .reduction = reduction, .weighted = weighted, .zloss = 0.01};
        Gradient(c).expect_right();
        Loss l(c);
        l.expect_right();
        Loss untouched(c);
        untouched.returnZloss = false;
        const std::string before = untouched.lse.bits(3);
        untouched.expect_right();
        EXPECT_EQ(untouched.lse.bits(3), before);
      }
  // Without the logarithms, or with a factor of 0, the gradient has no such part.
  Gradient plain(Case{}), with(Case{.zloss = 0.5});
  ASSERT_EQ(plain.run(), 0);
  ASSERT_EQ(call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr,
                 with.gradLoss.on_device(), with.logProb.on_device(), with.target.on_device(), nullptr, nullptr,
                 nullptr, text("mean"), kIgnored, 0.0, 0.5, with.out.on_device()),
            0);
  plain.out.download();
  with.out.download();
  for (int64_t i = 0; i < plain.out.size(); ++i) ASSERT_EQ(plain.out.bits(i), with.out.bits(i));
}

// Valid calls, from which tests/spec_test.cc makes a failing one for every rule.
[[maybe_unused]] const bool sampled[] = {
    add_sample<CrossEntropyLoss>("aclnnCrossEntropyLoss",
                                 [](Sample& s) -> CrossEntropyLoss::Params {
                                   const DataType f = DataType::kFloat;
                                   return {.input = s.tensor(f, {2, 3}),
                                           .target = s.tensor(DataType::kInt64, {2}),
                                           .weightOptional = s.tensor(f, {3}),
                                           .reductionOptional = "none",
                                           .ignoreIndex = kIgnored,
                                           .labelSmoothing = 0.1,
                                           .lseSquareScaleForZloss = 0.1,
                                           .returnZloss = true,
                                           .lossOut = s.tensor(f, {2}),
                                           .logProbOut = s.tensor(f, {2, 3}),
                                           .zlossOut = s.tensor(f, {2}),
                                           .lseForZlossOut = s.tensor(f, {2})};
                                 }),
    add_sample<CrossEntropyLossGrad>("aclnnCrossEntropyLossGrad",
                                     [](Sample& s) -> CrossEntropyLossGrad::Params {
                                       const DataType f = DataType::kFloat;
                                       return {.gradLoss = s.tensor(f, {}),
                                               .logProb = s.tensor(f, {2, 3}),
                                               .target = s.tensor(DataType::kInt64, {2}),
                                               .weightOptional = s.tensor(f, {3}),
                                               .gradZlossOptional = s.tensor(f, {1}),
                                               .lseForZlossOptional = s.tensor(f, {2}),
                                               .reductionOptional = "mean",
                                               .ignoreIndex = kIgnored,
                                               .labelSmoothing = 0.1,
                                               .lseSquareScaleForZloss = 0.1,
                                               .out = s.tensor(f, {2, 3})};
                                     }),
};

}  // namespace
}  // namespace descend::test::cross_entropy_loss
