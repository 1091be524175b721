// SPDX-License-Identifier: MIT
// The cross entropy and its gradient through the C API, against their references.
#include "ops/cross_entropy_loss/cross_entropy_loss.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>

#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/targets.h"
#include "tests/harness/call.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

const std::vector<DataType> kFloats{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};
const std::vector<const char*> kReductions{"none", "mean", "sum", nullptr};
const double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::nan("");
constexpr int64_t kIgnored = -100;
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min(), kLargest = std::numeric_limits<int64_t>::max();

char* text(const char* t) { return const_cast<char*>(t); }  // as the API takes it
bool is_none(const char* reduction) { return reduction && std::string(reduction) == "none"; }
bool is_mean(const char* reduction) { return !reduction || std::string(reduction) == "mean"; }

// A variable of the environment, set as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    setenv(name, value, 1);
    reread_environment();
  }
  ~Variable() {
    unsetenv(name_);
    reread_environment();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

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

void fill_labels(Tensor& target, Tensor& weight, const Case& c) {
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

TEST_F(CrossEntropyLossOperators, coefficients_beyond_the_range_of_float_lose_nothing) {
  for (double smoothing : {0.0, 0.1})
    for (bool weighted : {false, true})
      for (double gradient : {1e38, 1e-38, 1e-44})
        for (double weight : {1e37, 1e-37}) {
          Gradient g({.rows = 9, .classes = 9, .reduction = "none", .smoothing = smoothing, .weighted = weighted});
          g.gradLoss.fill({gradient, -gradient});
          g.weight.fill({weight});
          g.logProb.fill({-3, -90, -170, -kInfinity, 5, -40, 80, 0});
          g.upload();
          g.expect_right();
        }
}

TEST_F(CrossEntropyLossOperators, probability_of_almost_1_keeps_its_gradient) {
  Gradient g({.rows = 1, .classes = 2, .reduction = "sum"});
  g.gradLoss.fill({1});
  for (double x : {-1e-3, -1e-7, -1e-12, -1e-30}) {
    g.logProb.fill({-30, x});
    g.target.set_integer(0, 1);
    g.upload();
    ASSERT_EQ(g.run(), 0);
    g.out.download();
    EXPECT_LE(ulps_apart(DataType::kFloat, g.out.get(1), std::expm1(static_cast<double>(static_cast<float>(x)))), 1);
  }
  Loss l({.rows = 1, .classes = 2, .reduction = "sum"});
  l.target.set_integer(0, 1);
  l.target.upload();
  for (double x : {5.0, 20.0, 60.0}) {
    l.input.fill({-x, x});
    l.input.upload();
    ASSERT_EQ(l.run(), 0);
    l.download();
    const double exact = std::log1p(std::exp(-2 * x));
    EXPECT_LE(ulps_apart(DataType::kFloat, l.loss.get(0), exact), 2) << x;
    EXPECT_LE(ulps_apart(DataType::kFloat, l.logProb.get(1), -exact), 2) << x;
  }
}

TEST_F(CrossEntropyLossOperators, gradient_is_the_slope_of_the_loss) {
  constexpr double kStep = 1e-4;
  for (const char* extension : {"", "zloss"}) {
    const Variable extensions("DESCEND_EXTENSIONS", extension);
    for (const char* reduction : {"mean", "sum", "none"})
      for (double smoothing : {0.0, 0.2})
        for (bool weighted : {false, true}) {
          const Case c{.rows = 6,
                       .classes = 5,
                       .reduction = reduction,
                       .smoothing = smoothing,
                       .weighted = weighted,
                       .zloss = *extension ? 0.05 : 0};
          Gradient g(c);
          g.gradZloss.fill({0});
          Tensor input(DataType::kDouble, {6, 5}), log_prob(DataType::kDouble, {6, 5}),
              loss(DataType::kDouble, c.loss_shape()), zloss(DataType::kDouble, c.loss_shape()),
              lse(DataType::kDouble, {6});
          Random random(11);
          for (int64_t i = 0; i < input.size(); ++i) input.set(i, random.next() / 8);
          CrossEntropyLoss::Params p{input.on_host(),
                                     g.target.on_host(),
                                     weighted ? g.weight.on_host() : nullptr,
                                     reduction,
                                     kIgnored,
                                     smoothing,
                                     c.zloss,
                                     true,
                                     loss.on_host(),
                                     log_prob.on_host(),
                                     zloss.on_host(),
                                     lse.on_host()};
          const auto* forward = find_operator("aclnnCrossEntropyLoss");
          forward->reference(&p);
          for (int64_t i = 0; i < input.size(); ++i) g.logProb.set(i, log_prob.get(i));
          if (c.zloss != 0)
            for (int64_t i = 0; i < 6; ++i) g.lse.set(i, lse.get(i));
          g.upload();
          ASSERT_EQ(g.run(), 0) << recent_error();
          g.out.download();
          const auto objective = [&](int64_t i, double x) {  // the loss, each number times its gradient
            const double kept = input.get(i);
            input.set(i, x);
            forward->reference(&p);
            input.set(i, kept);
            double sum = 0;
            for (int64_t k = 0; k < loss.size(); ++k) sum += loss.get(k) * g.gradLoss.get(k);
            return sum;
          };
          for (int64_t i = 0; i < input.size(); ++i) {
            const double x = input.get(i), slope = (objective(i, x + kStep) - objective(i, x - kStep)) / (2 * kStep);
            EXPECT_NEAR(g.out.get(i), slope, 2e-5) << c.words() << " " << extension << " element " << i;
          }
        }
  }
}

TEST_F(CrossEntropyLossOperators, rows_of_the_gradient_add_up_to_0) {
  for (double smoothing : {0.0, 0.1}) {
    const Case c{.rows = 20, .classes = 300, .smoothing = smoothing, .weighted = true};
    Loss l(c);
    Gradient g(c);
    ASSERT_EQ(l.run(), 0);
    l.download();
    for (int64_t i = 0; i < l.logProb.size(); ++i) g.logProb.set(i, l.logProb.get(i));
    g.upload();
    ASSERT_EQ(g.run(), 0);
    g.out.download();
    for (int64_t row = 0; row < 20; ++row) {
      double sum = 0, size = 0;
      for (int64_t j = 0; j < 300; ++j) sum += g.out.get(row * 300 + j), size += std::fabs(g.out.get(row * 300 + j));
      EXPECT_LE(std::fabs(sum), 1e-5 * size) << row;
    }
  }
}

TEST_F(CrossEntropyLossOperators, ignored_rows_are_0_and_their_values_do_not_matter) {
  for (Layout layout : output_layouts())
    for (const char* reduction : kReductions) {
      Gradient g({.rows = 40, .classes = 21, .reduction = reduction, .smoothing = 0.1, .from = layout, .to = layout});
      std::vector<bool> counts(40);
      for (int64_t i = 0; i < 40; ++i) {
        counts[static_cast<size_t>(i)] = i % 3 == 0;
        const std::vector<int64_t> labels{i % 21, kIgnored, i % 2 ? 21 : kSmallest};
        g.target.set_integer(i, labels[static_cast<size_t>(i % 3)]);
        for (int64_t j = 0; i % 3 != 0 && j < 21; ++j) g.logProb.set(i * 21 + j, j % 2 ? kNan : kInfinity);
      }
      g.upload();
      ASSERT_EQ(g.run(), 0);
      g.out.download();
      for (int64_t i = 0; i < g.out.size(); ++i) {
        if (counts[static_cast<size_t>(i / 21)])
          ASSERT_TRUE(std::isfinite(g.out.get(i)) && g.out.get(i) != 0) << g.c.words() << i;
        else
          ASSERT_TRUE(g.out.get(i) == 0 && !std::signbit(g.out.get(i))) << g.c.words() << i;
      }
    }
}

TEST_F(CrossEntropyLossOperators, of_nothing_the_mean_is_nan_and_the_sum_0) {
  for (DataType dtype : kFloats)
    for (const char* reduction : kReductions)
      for (int kind : {0, 1}) {  // no row counts; every row's class weighs 0
        const Case c{.rows = 5, .classes = 4, .dtype = dtype, .reduction = reduction, .weighted = kind == 1};
        Gradient g(c);
        Loss l(c);
        for (Tensor* t : {&g.target, &l.target}) {
          for (int64_t i = 0; i < 5; ++i) t->set_integer(i, kind == 1 ? 2 : kIgnored);
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

TEST_F(CrossEntropyLossOperators, strides_that_leave_the_address_space_fail) {
  Tensor gradLoss(DataType::kFloat, {}), target(DataType::kInt64, {2}), out(DataType::kFloat, {2, 3});
  const int64_t shape[] = {2, 3}, strides[] = {int64_t{1} << 62, int64_t{1} << 62};
  aclTensor* far = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 2, out.device_data());
  EXPECT_EQ(call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr, gradLoss.on_device(),
                 far, target.on_device(), nullptr, nullptr, nullptr, text("sum"), kIgnored, 0.0, 0.0, out.on_device()),
            161002);
  const int64_t zeros[] = {0, 1};
  aclTensor* shared = aclCreateTensor(shape, 2, ACL_FLOAT, zeros, 0, ACL_FORMAT_ND, shape, 2, out.device_data());
  EXPECT_EQ(
      call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr, gradLoss.on_device(),
           out.on_device(), target.on_device(), nullptr, nullptr, nullptr, text("sum"), kIgnored, 0.0, 0.0, shared),
      161002);
  EXPECT_EQ(aclDestroyTensor(far), 0);
  EXPECT_EQ(aclDestroyTensor(shared), 0);
}

TEST_F(CrossEntropyLossOperators, views_may_reach_beyond_2_to_the_31_elements) {
  // Memory that is only touched where the elements are.  The cpu device's memory is the host's.
  constexpr int64_t kRow = (int64_t{1} << 31) + 5, kColumn = (int64_t{1} << 30) + 3;
  constexpr int64_t kElements = kRow + 2 * kColumn + 1;
  constexpr size_t kBytes = static_cast<size_t>(kElements) * sizeof(float16);
  void* memory[2];
  aclTensor* far[2];
  const int64_t shape[] = {2, 3}, strides[] = {kRow, kColumn}, back[] = {-kRow, -kColumn};
  for (int k : {0, 1}) {
    memory[k] = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory[k], MAP_FAILED);
    far[k] = aclCreateTensor(shape, 2, ACL_FLOAT16, k ? back : strides, k ? kElements - 1 : 0, ACL_FORMAT_ND, shape, 2,
                             memory[k]);
  }
  Gradient g({.rows = 2, .classes = 3, .dtype = DataType::kFloat16, .reduction = "sum"});
  Loss l({.rows = 2, .classes = 3, .dtype = DataType::kFloat16, .reduction = "sum"});
  const auto place = [&](int k, int64_t i) {
    const int64_t at = i / 3 * kRow + i % 3 * kColumn;
    return static_cast<float16*>(memory[k]) + (k ? kElements - 1 - at : at);
  };
  for (bool backward : {true, false}) {
    Tensor& from = backward ? g.logProb : l.input;
    Tensor& to = backward ? g.out : l.logProb;
    for (int64_t i = 0; i < 6; ++i) std::memcpy(place(0, i), from.bits(i).data(), 2);
    ASSERT_EQ(backward ? g.run() : l.run(), 0);
    if (backward)
      ASSERT_EQ(
          call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr, g.gradLoss.on_device(),
               far[0], g.target.on_device(), nullptr, nullptr, nullptr, text("sum"), kIgnored, 0.0, 0.0, far[1]),
          0)
          << recent_error();
    else
      ASSERT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, far[0],
                     l.target.on_device(), nullptr, text("sum"), kIgnored, 0.0, 0.0, false, l.loss.on_device(), far[1],
                     l.zloss.on_device(), l.lse.on_device()),
                0)
          << recent_error();
    to.download();
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(std::string(reinterpret_cast<char*>(place(1, i)), 2), to.bits(i)) << i;
  }
  for (int k : {0, 1}) {
    EXPECT_EQ(aclDestroyTensor(far[k]), 0);
    EXPECT_EQ(munmap(memory[k], kBytes), 0);
  }
}

TEST_F(CrossEntropyLossOperators, many_classes_are_as_precise_as_few) {
  for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{2, 128256}, {1, 100003}}) {
    const Case c{.rows = rows, .classes = classes, .smoothing = 0.1, .weighted = true};
    Gradient(c).expect_right();
    Loss(c).expect_right();
  }
  // All scores are equal: the loss is the logarithm of their number.
  Loss l({.rows = 1, .classes = 128256});
  l.input.fill({-7.3});
  l.input.upload();
  ASSERT_EQ(l.run(), 0);
  l.download();
  EXPECT_LE(ulps_apart(DataType::kFloat, l.loss.get(0), std::log(128256.0)), 1);
}

TEST_F(CrossEntropyLossOperators, small_rest_of_many_classes_keeps_its_precision) {
  // All but one score are equal, so that whatever their exponentials and sums lose adds up.
  for (int64_t classes : {2, 40, 1000, 5000})
    for (double distance : {4.7, 13.1, 33.3, 95.9, 101.3}) {
      Loss l({.rows = 1, .classes = classes});
      l.input.fill({1.2345678 - distance});
      l.input.set(1, 1.2345678);
      l.input.upload();
      l.expect_right();
    }
}

TEST_F(CrossEntropyLossOperators, work_in_place) {
  for (Layout layout : output_layouts())
    for (DataType dtype : kFloats) {
      const Case c{.rows = 45, .classes = 70, .dtype = dtype, .smoothing = 0.1, .from = layout, .to = layout};
      Gradient g(c);
      Loss l(c);
      uint64_t workspace = 1;
      ASSERT_EQ(g.run(), 0);
      ASSERT_EQ(Gradient::run(g, g.logProb, &workspace), 0);
      EXPECT_EQ(workspace, 0u);
      ASSERT_EQ(l.run(), 0);
      ASSERT_EQ(Loss::run(l, l.input, &workspace), 0);
      EXPECT_EQ(workspace, 0u);
      for (Tensor* t : {&g.out, &g.logProb, &l.logProb, &l.input}) t->download();
      for (int64_t i = 0; i < g.out.size(); ++i) {
        ASSERT_EQ(g.logProb.bits(i), g.out.bits(i)) << c.words() << " " << i;
        ASSERT_EQ(l.input.bits(i), l.logProb.bits(i)) << c.words() << " " << i;
      }
    }
}

TEST_F(CrossEntropyLossOperators, outputs_over_other_inputs_read_them_first) {
  constexpr int64_t kCount = 64;
  // The loss over the weights, of which later rows still need the first.
  Loss l({.rows = kCount, .classes = kCount, .reduction = "none", .smoothing = 0.1, .weighted = true});
  ASSERT_EQ(l.run(), 0);
  l.download();
  uint64_t workspace = 0;
  ASSERT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, &workspace, l.input.on_device(),
                 l.target.on_device(), l.weight.on_device(), text("none"), kIgnored, 0.1, 0.0, false,
                 l.weight.on_device(), l.logProb.on_device(), l.zloss.on_device(), l.lse.on_device()),
            0);
  EXPECT_GE(workspace, kCount * sizeof(float));
  l.weight.download();
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(l.weight.bits(i), l.loss.bits(i)) << i;
  // The gradient one row below logProb, in the same memory, and over the gradient it begins with.
  Gradient g({.rows = kCount, .classes = 30, .reduction = "none"});
  Tensor memory(DataType::kFloat, {kCount + 1, 30});
  for (int64_t i = 0; i < g.logProb.size(); ++i) memory.set(i, g.logProb.get(i));
  memory.upload();
  ASSERT_EQ(g.run(), 0);
  g.out.download();
  const int64_t shape[] = {kCount, 30}, strides[] = {30, 1}, ones[] = {kCount};
  aclTensor* from = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 16, ACL_FORMAT_ND, shape, 2, memory.device_data());
  aclTensor* to = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 46, ACL_FORMAT_ND, shape, 2, memory.device_data());
  ASSERT_EQ(
      call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, &workspace, g.gradLoss.on_device(),
           from, g.target.on_device(), nullptr, nullptr, nullptr, text("none"), kIgnored, 0.0, 0.0, to),
      0);
  EXPECT_GE(workspace, kCount * 30 * sizeof(float));
  memory.download();
  for (int64_t i = 0; i < g.out.size(); ++i) ASSERT_EQ(memory.bits(i + 30), g.out.bits(i)) << i;

  memory.fill({0.5, 2});
  memory.upload();
  g.gradLoss.fill({0.5, 2});
  g.upload();
  ASSERT_EQ(g.run(), 0);
  g.out.download();
  aclTensor* row = aclCreateTensor(ones, 1, ACL_FLOAT, nullptr, 16, ACL_FORMAT_ND, ones, 1, memory.device_data());
  aclTensor* over = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 16, ACL_FORMAT_ND, shape, 2, memory.device_data());
  ASSERT_EQ(
      call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, &workspace, row, g.logProb.on_device(),
           g.target.on_device(), nullptr, nullptr, nullptr, text("none"), kIgnored, 0.0, 0.0, over),
      0);
  memory.download();
  for (int64_t i = 0; i < g.out.size(); ++i) ASSERT_EQ(memory.bits(i), g.out.bits(i)) << i;
  for (aclTensor* t : {from, to, row, over}) EXPECT_EQ(aclDestroyTensor(t), 0);
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

// The results of both functions for the same values, as bits in logical order; a NaN is one NaN.
std::string digest(Case c) {
  std::string bits;
  const auto keep = [&](int status, std::initializer_list<Tensor*> tensors) {
    EXPECT_EQ(status, 0) << c.words() << recent_error();
    for (Tensor* t : tensors) {
      t->download();
      for (int64_t i = 0; i < t->size(); ++i) bits += std::isnan(t->get(i)) ? "NaN" : t->bits(i);
    }
  };
  for (const char* reduction : {"none", "mean"})
    for (double smoothing : {0.0, 0.1})
      for (bool weighted : {false, true}) {
        c.reduction = reduction;
        c.smoothing = smoothing;
        c.weighted = weighted;
        Gradient g(c);
        Loss l(c);
        const std::vector<double> marks = landmarks(c.dtype, {-87, -95, -103});
        for (size_t k = 0; k < marks.size(); ++k) {
          const auto at = static_cast<int64_t>(k * 997) % g.logProb.size();
          g.logProb.set(at, marks[k]);
          if (!std::isnan(marks[k]) && marks[k] < 1000) l.input.set(at, marks[k]);
        }
        g.logProb.upload();
        l.input.upload();
        keep(g.run(), {&g.out});
        keep(l.run(), {&l.loss, &l.logProb});
      }
  return bits;
}

TEST_F(CrossEntropyLossOperators, same_bits_for_any_layout) {
  for (DataType dtype : kFloats)
    for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{37, 29}, {2, 1300}}) {
      const Case c{.rows = rows, .classes = classes, .dtype = dtype};
      const std::string expected = digest(c);
      for (Layout from : output_layouts())  // broadcasting changes the values
        for (Layout to : output_layouts()) {
          Case other = c;
          other.from = from, other.to = to, other.labels = from;
          ASSERT_TRUE(digest(other) == expected) << other.words();
        }
    }
}

TEST_F(CrossEntropyLossOperators, same_bits_for_any_number_of_threads) {
  // Rows for each thread, a row shared by all of them, and more rows than there are blocks of them.
  for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{120, 301}, {2, 40001}, {2500, 3}})
    for (Layout layout : {Layout::kContiguous, Layout::kTransposed}) {
      const Case c{.rows = rows, .classes = classes, .from = layout};
      std::vector<std::string> digests;
      for (const char* threads : {"1", "2", "7"}) {
        const Variable variable("DESCEND_THREADS", threads);
        ASSERT_EQ(parallel_width(), std::atoi(threads));
        digests.push_back(digest(c));
      }
      for (const std::string& d : digests) EXPECT_TRUE(d == digests[0]) << c.words();
    }
  // 16 rows are few for 7 threads, and are not for 1: the two ways to share them out agree.
  const Case c{.rows = 16, .classes = 33000, .reduction = "sum"};
  std::vector<std::string> bits;
  for (const char* threads : {"1", "7"}) {
    const Variable variable("DESCEND_THREADS", threads);
    Loss l(c);
    ASSERT_EQ(l.run(), 0);
    l.download();
    bits.push_back(l.loss.bits(0));
    for (int64_t i = 0; i < l.logProb.size(); i += 101) bits.back() += l.logProb.bits(i);
  }
  EXPECT_EQ(bits[0], bits[1]);
}

TEST_F(CrossEntropyLossOperators, same_bits_for_any_simd_target) {
  ASSERT_GE(cpu_targets().size(), 2u);  // SCALAR is always there to compare with
  for (DataType dtype : kFloats)
    for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{{19, 531}, {70, 10}}) {
      const Case c{.rows = rows, .classes = classes, .dtype = dtype};
      const std::string expected = digest(c);
      for (std::string_view target : cpu_targets()) {
        ASSERT_TRUE(set_cpu_target(target));
        for (Layout to : {Layout::kContiguous, Layout::kTransposed}) {
          Case other = c;
          other.to = to;
          EXPECT_TRUE(digest(other) == expected) << other.words() << " on " << target;
        }
      }
      set_cpu_target({});
    }
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
}  // namespace descend::test
