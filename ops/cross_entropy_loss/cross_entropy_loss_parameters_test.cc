// SPDX-License-Identifier: MIT
// The parameters of the cross entropy: labels, reductions, smoothing, and what does not fit together.
#include "ops/cross_entropy_loss/cross_entropy_loss_test.h"

namespace descend::test::cross_entropy_loss {
namespace {

TEST_F(CrossEntropyLossOperators, ignored_rows_are_0_and_their_values_do_not_matter) {
  std::vector<Case> cases;
  for (const char* reduction : kReductions) {
    for (Layout layout : output_layouts())
      cases.push_back(
          {.rows = 40, .classes = 21, .reduction = reduction, .smoothing = 0.1, .from = layout, .to = layout});
    cases.push_back({.rows = 40, .classes = 128, .reduction = reduction});
  }
  for (const Case& c : cases) {
    Gradient g(c);
    const int64_t classes = c.classes;
    std::vector<bool> counts(40);
    for (int64_t i = 0; i < 40; ++i) {
      counts[static_cast<size_t>(i)] = i % 3 == 0;
      const std::vector<int64_t> labels{i % classes, kIgnored, i % 2 ? classes : kSmallest};
      g.target.set_integer(i, labels[static_cast<size_t>(i % 3)]);
      for (int64_t j = 0; i % 3 != 0 && j < classes; ++j) g.logProb.set(i * classes + j, j % 2 ? kNan : kInfinity);
    }
    g.upload();
    ASSERT_EQ(g.run(), 0);
    g.out.download();
    for (int64_t i = 0; i < g.out.size(); ++i) {
      if (counts[static_cast<size_t>(i / classes)])
        ASSERT_TRUE(std::isfinite(g.out.get(i)) && g.out.get(i) != 0) << g.c.words() << i;
      else
        ASSERT_TRUE(g.out.get(i) == 0 && !std::signbit(g.out.get(i))) << g.c.words() << i;
    }
  }
}

TEST_F(CrossEntropyLossOperators, of_nothing_the_mean_is_nan_and_the_sum_0) {
  for (DataType dtype : kFloats)
    for (const char* reduction : kReductions)
      for (int kind : {0, 1, 2, 3}) {  // no row counts; every row's class weighs 0; both with more classes
        const bool weighted = kind % 2 == 1;
        const Case c{
            .rows = 5, .classes = kind < 2 ? 4 : 128, .dtype = dtype, .reduction = reduction, .weighted = weighted};
        Gradient g(c);
        Loss l(c);
        for (Tensor* t : {&g.target, &l.target}) {
          for (int64_t i = 0; i < 5; ++i) t->set_integer(i, weighted ? 2 : kIgnored);
          t->upload();
        }
        for (Tensor* t : {&g.weight, &l.weight}) {
          t->fill({1, 1, 0, 1});
          t->upload();
        }
        ASSERT_EQ(g.run(), 0);
        ASSERT_EQ(l.run(), 0);
        g.out.download();
        l.download();
        for (const Tensor* t : {&g.out, &l.loss})
          for (int64_t i = 0; i < t->size(); ++i) {
            if (is_mean(reduction))
              EXPECT_TRUE(std::isnan(t->get(i)));
            else
              EXPECT_EQ(t->get(i), 0);
          }
      }
}

TEST_F(CrossEntropyLossOperators, of_no_rows_there_is_nothing_to_do) {
  for (const char* reduction : kReductions) {
    Loss({.rows = 3, .classes = 4, .reduction = reduction}).expect_right();  // whose sums are not those of no rows
    const Case c{.rows = 0, .classes = 4, .reduction = reduction};
    Gradient g(c);
    Loss l(c);
    uint64_t workspace = 1;
    EXPECT_EQ(g.run(&workspace), 0) << recent_error();
    EXPECT_EQ(workspace, 0u);
    EXPECT_EQ(l.run(&workspace), 0) << recent_error();
    EXPECT_EQ(workspace, 0u);
    l.download();
    if (is_none(reduction)) continue;
    EXPECT_EQ(std::isnan(l.loss.get(0)), is_mean(reduction));
    EXPECT_TRUE(is_mean(reduction) || l.loss.get(0) == 0);
  }
}

TEST_F(CrossEntropyLossOperators, ignore_index_may_be_a_class_or_any_number) {
  for (int64_t ignored : {int64_t{3}, int64_t{0}, int64_t{-1}, kSmallest, kLargest}) {
    const Case c{.rows = 30, .classes = 10, .ignored = ignored};
    Gradient(c).expect_right();
    Loss(c).expect_right();
  }
}

TEST_F(CrossEntropyLossOperators, int32_labels_are_for_one_product) {
  const Case c{.weighted = true, .index = DataType::kInt32};
  Gradient g(c);
  Loss l(c);
  EXPECT_EQ(g.run(), 161002);
  EXPECT_NE(recent_error().find("target must satisfy: is not INT32 on"), std::string::npos);
  EXPECT_EQ(l.run(), 161002);
  const Variable soc("DESCEND_SOC", "Ascend950PR_9599");
  g.expect_right();
  l.expect_right();
}

TEST_F(CrossEntropyLossOperators, null_reduction_means_mean_and_other_texts_fail) {
  const std::string long_text(100000, 'm');
  Gradient g(Case{});
  Loss l(Case{});
  ASSERT_EQ(g.run(), 0);
  g.out.download();
  std::string bits;
  for (int64_t i = 0; i < g.out.size(); ++i) bits += g.out.bits(i);
  g.c.reduction = nullptr;
  ASSERT_EQ(g.run(), 0);
  g.out.download();
  for (int64_t i = 0; i < g.out.size(); ++i) ASSERT_EQ(g.out.bits(i), bits.substr(static_cast<size_t>(i) * 4, 4));
  for (const char* wrong : {"MEAN", "", "mean ", "n", "batchmean", long_text.c_str()}) {
    g.c.reduction = l.c.reduction = wrong;
    EXPECT_EQ(g.run(), 561002) << wrong;
    EXPECT_NE(recent_error().find("reductionOptional must satisfy: is \"none\", \"mean\" or \"sum\"; it is \""),
              std::string::npos);
    EXPECT_EQ(l.run(), 561002) << wrong;
  }
}

TEST_F(CrossEntropyLossOperators, smoothing_outside_0_to_1_fails) {
  for (double wrong : {-1e-9, 1.0000001, kNan, kInfinity, -kInfinity}) {
    Gradient g({.smoothing = wrong});
    Loss l({.smoothing = wrong});
    EXPECT_EQ(g.run(), 561002) << wrong;
    EXPECT_EQ(l.run(), 561002) << wrong;
  }
}

// A call with one tensor exchanged.
struct Exchanged {
  DataType dtype;
  Sizes shape;
  int32_t code;
};

TEST_F(CrossEntropyLossOperators, wrong_shapes_are_561002_and_wrong_dtypes_before_them_161002) {
  const DataType f = DataType::kFloat, i64 = DataType::kInt64;
  const std::vector<std::pair<int, Exchanged>> wrong{
      {0, {f, {3}, 561002}},           {0, {f, {1, 1}, 561002}},      {0, {DataType::kDouble, {3}, 161002}},
      {1, {f, {2}, 561002}},           {1, {f, {}, 561002}},          {1, {f, {2, 3, 1}, 561002}},
      {1, {f, {2, 0}, 561002}},        {1, {f, {3, 3}, 561002}},      {1, {DataType::kFloat16, {2}, 161002}},
      {2, {i64, {3}, 561002}},         {2, {i64, {}, 561002}},        {2, {i64, {2, 1}, 561002}},
      {2, {f, {2, 1}, 161002}},        {3, {f, {2}, 561002}},         {3, {f, {1, 3}, 561002}},
      {3, {i64, {2}, 161002}},         {4, {f, {2, 2}, 561002}},      {4, {f, {6}, 561002}},
      {4, {i64, {6}, 161002}},         {0, {f, Sizes(9, 1), 161002}}, {1, {f, Sizes(9, 1), 161002}},
      {2, {i64, Sizes(9, 1), 161002}}, {3, {f, Sizes(9, 1), 161002}}, {4, {f, Sizes(9, 1), 161002}}};
  Tensor gradLoss(f, {}), logProb(f, {2, 3}), target(i64, {2}), weight(f, {3}), out(f, {2, 3}), loss(f, {});
  for (const auto& [which, exchanged] : wrong) {
    Tensor other(exchanged.dtype, exchanged.shape);
    std::vector<aclTensor*> t{gradLoss.on_device(), logProb.on_device(), target.on_device(), weight.on_device(),
                              out.on_device()};
    t[static_cast<size_t>(which)] = other.on_device();
    EXPECT_EQ(call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr, t[0], t[1], t[2],
                   t[3], nullptr, nullptr, text("sum"), kIgnored, 0.0, 0.0, t[4]),
              exchanged.code)
        << which << " " << descend::describe(*other.on_host());
    if (which == 0) continue;
    EXPECT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, t[1], t[2], t[3], text("sum"),
                   kIgnored, 0.0, 0.0, false, loss.on_device(), t[4], loss.on_device(), loss.on_device()),
              exchanged.code)
        << which << " " << descend::describe(*other.on_host());
  }
  Tensor rows(f, {2}), labels(f, {3});
  EXPECT_EQ(call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr, gradLoss.on_device(),
                 logProb.on_device(), target.on_device(), nullptr, nullptr, nullptr, text("none"), kIgnored, 0.0, 0.0,
                 out.on_device()),
            561002);
  EXPECT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, logProb.on_device(),
                 target.on_device(), nullptr, text("none"), kIgnored, 0.0, 0.0, false, loss.on_device(),
                 out.on_device(), loss.on_device(), loss.on_device()),
            561002);
}

}  // namespace
}  // namespace descend::test::cross_entropy_loss
