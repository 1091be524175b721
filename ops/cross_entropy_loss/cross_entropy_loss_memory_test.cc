// SPDX-License-Identifier: MIT
// Where the tensors of the cross entropy may lie: far apart, in place, over each other.
#include "ops/cross_entropy_loss/cross_entropy_loss_test.h"
#include "tests/harness/sparse.h"

namespace descend::test::cross_entropy_loss {
namespace {

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
  constexpr int64_t kRow = (int64_t{1} << 31) + 5, kColumn = (int64_t{1} << 30) + 3;
  constexpr int64_t kElements = kRow + 2 * kColumn + 1;
  constexpr size_t kBytes = static_cast<size_t>(kElements) * sizeof(float16);
  SparseMemory memory[2] = {SparseMemory(kBytes), SparseMemory(kBytes)};
  aclTensor* far[2];
  const int64_t shape[] = {2, 3}, strides[] = {kRow, kColumn}, back[] = {-kRow, -kColumn};
  for (int k : {0, 1}) {
    far[k] = aclCreateTensor(shape, 2, ACL_FLOAT16, k ? back : strides, k ? kElements - 1 : 0, ACL_FORMAT_ND, shape, 2,
                             memory[k].data());
  }
  Gradient g({.rows = 2, .classes = 3, .dtype = DataType::kFloat16, .reduction = "sum"});
  Loss l({.rows = 2, .classes = 3, .dtype = DataType::kFloat16, .reduction = "sum"});
  const auto place = [&](int k, int64_t i) {
    const int64_t at = i / 3 * kRow + i % 3 * kColumn;
    return k ? kElements - 1 - at : at;
  };
  for (bool backward : {true, false}) {
    Tensor& from = backward ? g.logProb : l.input;
    Tensor& to = backward ? g.out : l.logProb;
    for (int64_t i = 0; i < 6; ++i) memory[0].set(place(0, i), float16::from(static_cast<float>(from.get(i))));
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
    for (int64_t i = 0; i < 6; ++i) {
      const float16 element = memory[1].get<float16>(place(1, i));
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(&element), 2), to.bits(i)) << i;
    }
  }
  for (int k : {0, 1}) EXPECT_EQ(aclDestroyTensor(far[k]), 0);
}

// A GPU's warp has several at once, or one or a part of one: whole pieces, or tiles, that begin at any place of a
// sector.
TEST_F(CrossEntropyLossOperators, rows_may_lie_apart) {
  struct Matrix {
    int64_t rows, classes, apart;
  };
  std::vector<std::pair<DataType, Matrix>> cases;
  for (DataType dtype : kFloats)
    for (const Matrix& m : std::vector<Matrix>{{2100, 600, 8},
                                               {2100, 601, 8},
                                               {37, 1000, 0},
                                               {37, 1004, 8},
                                               {19, 1528, 0},
                                               {19, 2036, 0},
                                               {19, 2040, 0},
                                               {37, 1024, 9},
                                               {19, 1536, 9},
                                               {17, 2048, 9},
                                               {17, 8192, 9},
                                               {17, 33280, 9}})
      cases.emplace_back(dtype, m);
  for (const auto& [dtype, matrix] : cases) {
    const auto& [rows, classes, by_from] = matrix;
    const Sizes shape{rows, classes};
    Loss l({.rows = rows, .classes = classes, .dtype = dtype});
    const auto apart = [&, rows = rows, classes = classes](int64_t by) {
      return View{{classes + by, 1}, 0, rows * (classes + by)};
    };
    Tensor from(dtype, shape, apart(by_from)), to(dtype, shape, apart(by_from + 8));
    for (int64_t i = 0; i < from.size(); ++i) from.set(i, l.input.get(i));
    from.upload();
    to.upload();
    ASSERT_EQ(l.run(), 0);
    l.download();
    const std::string loss = l.loss.bits(0);
    ASSERT_EQ(call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, from.on_device(),
                   l.target.on_device(), nullptr, text(l.c.reduction), l.c.ignored, 0.0, 0.0, true, l.loss.on_device(),
                   to.on_device(), l.zloss.on_device(), l.lse.on_device()),
              0)
        << recent_error();
    l.loss.download();
    EXPECT_EQ(l.loss.bits(0), loss);
    to.download();
    EXPECT_TRUE(to.untouched_outside());
    for (int64_t i = 0; i < to.size(); ++i) ASSERT_EQ(to.bits(i), l.logProb.bits(i)) << classes << " " << i;
  }
}

TEST_F(CrossEntropyLossOperators, matrices_may_begin_anywhere_within_32_bytes) {
  for (DataType dtype : kFloats)
    for (int64_t classes : {24, 40, 1000, 1001, 9001})
      for (const auto& [before, before_out] :
           std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 2}, {5, 5}, {1, 2}, {15, 7}, {6, 2}}) {
        const int64_t rows = classes < 100 ? 75 : 7;
        const auto behind = [&](int64_t by) { return View{{classes, 1}, by, by + rows * classes + 9}; };
        Tensor from(dtype, {rows, classes}, behind(before)), to(dtype, {rows, classes}, behind(before_out));
        const auto agree = [&](const Tensor& input, const Tensor& output, const auto& run) {
          for (int64_t i = 0; i < from.size(); ++i) from.set(i, input.get(i));
          from.upload();
          to.upload();
          ASSERT_EQ(run(), 0) << recent_error();
          to.download();
          EXPECT_TRUE(to.untouched_outside());
          for (int64_t i = 0; i < to.size(); ++i) ASSERT_EQ(to.bits(i), output.bits(i)) << classes << " " << i;
        };
        for (double smoothing : {0.0, 0.1}) {
          Gradient g({.rows = rows, .classes = classes, .dtype = dtype, .smoothing = smoothing, .weighted = true});
          ASSERT_EQ(g.run(), 0);
          g.out.download();
          agree(g.logProb, g.out, [&] {
            return call(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad, nullptr,
                        g.gradLoss.on_device(), from.on_device(), g.target.on_device(), g.weight.on_device(), nullptr,
                        nullptr, text(g.c.reduction), g.c.ignored, smoothing, 0.0, to.on_device());
          });
          Loss l(g.c);
          ASSERT_EQ(l.run(), 0);
          l.download();
          agree(l.input, l.logProb, [&] {
            return call(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, nullptr, from.on_device(),
                        l.target.on_device(), l.weight.on_device(), text(l.c.reduction), l.c.ignored, smoothing, 0.0,
                        true, l.loss.on_device(), to.on_device(), l.zloss.on_device(), l.lse.on_device());
          });
        }
      }
}

TEST_F(CrossEntropyLossOperators, work_in_place) {
  std::vector<Case> cases;
  for (DataType dtype : kFloats) {
    for (Layout layout : output_layouts())
      cases.push_back({.rows = 45, .classes = 70, .dtype = dtype, .smoothing = 0.1, .from = layout, .to = layout});
    cases.push_back({.rows = 45, .classes = 128, .dtype = dtype});
    for (int64_t classes : {70, 600, 1001})
      cases.push_back({.rows = 45, .classes = classes, .dtype = dtype, .from = Layout::kOffset, .to = Layout::kOffset});
    for (int64_t classes : {700, 9001, 40000})
      for (double smoothing : {0.0, 0.1})
        cases.push_back({.rows = 3, .classes = classes, .dtype = dtype, .smoothing = smoothing});
  }
  for (const Case& c : cases) {
    Gradient g(c);
    Loss l(c);
    uint64_t workspace = 1;
    ASSERT_EQ(g.run(), 0);
    ASSERT_EQ(Gradient::run(g, g.logProb, &workspace), 0);
    EXPECT_EQ(workspace, 0u);
    ASSERT_EQ(l.run(), 0);
    l.loss.download();
    const std::string loss = l.loss.bits(0);
    ASSERT_EQ(Loss::run(l, l.input, &workspace), 0);
    EXPECT_EQ(workspace, 0u);
    l.loss.download();
    EXPECT_EQ(l.loss.bits(0), loss) << c.words();
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

}  // namespace
}  // namespace descend::test::cross_entropy_loss
