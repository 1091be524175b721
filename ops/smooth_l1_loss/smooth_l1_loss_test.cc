// SPDX-License-Identifier: MIT
// The smooth L1 loss and its gradient through the C API, against their references.
#include "ops/smooth_l1_loss/smooth_l1_loss_test.h"

namespace descend::test::smooth_l1_loss {
namespace {

TEST_F(SmoothL1LossOperators, gradient_agrees_with_the_reference_for_all_dtypes_and_betas) {
  const Sizes shape{61, 53};
  for (DataType g : kFloats)
    for (DataType s : kFloats)
      for (DataType t : kFloats)
        for (DataType out : kFloats)
          for (float beta : kBetas)
            check_backward({g, s, t, out}, {shape, shape, shape, shape}, {}, out == DataType::kFloat, beta);
}

TEST_F(SmoothL1LossOperators, gradient_agrees_with_the_reference_for_all_shapes_and_reductions) {
  for (const Shapes& shapes : kShapes)
    for (int64_t reduction : {0, 1, 2})
      for (DataType t : kFloats)
        for (float beta : kBetas) check_backward({t, t, t, t}, shapes, {}, reduction, beta);
}

// A test for each layout of the first input: all in one take minutes under compute-sanitizer.
class SmoothL1LossOperatorsOfLayout : public SmoothL1LossOperators, public testing::WithParamInterface<Layout> {};
INSTANTIATE_TEST_SUITE_P(each, SmoothL1LossOperatorsOfLayout, testing::ValuesIn(all_layouts()),
                         [](const auto& test) { return identifier(test.param); });

TEST_P(SmoothL1LossOperatorsOfLayout, gradient_agrees_with_the_reference_for_all_others) {
  size_t next = static_cast<size_t>(GetParam());  // the third input's layouts and the dtypes take turns
  for (const Shapes& shapes : kShapes)
    for (Layout b : all_layouts())
      for (Layout o : output_layouts()) {
        const Layout c = all_layouts()[next % all_layouts().size()];
        const DataType t = kFloats[next % 3], other = kFloats[next / 3 % 3];
        check_backward({t, other, t, t}, shapes, {GetParam(), b, c, o}, static_cast<int64_t>(next % 2), 0.3f);
        next += 1 + (next % 41 == 40);  // so that they do not repeat in step with the loops
      }
}

TEST_F(SmoothL1LossOperators, loss_agrees_with_the_reference_for_all_dtypes_and_betas) {
  const Sizes shape{61, 53};
  for (DataType s : kFloats)
    for (DataType t : kFloats)
      for (DataType out : kOutputs)
        for (float beta : kBetas)
          for (int64_t reduction : {0, 1, 2})
            check_forward(s, t, out, {{}, shape, shape, shape}, Layout::kContiguous, Layout::kContiguous,
                          Layout::kContiguous, reduction, beta, reduction == 0);
}

TEST_P(SmoothL1LossOperatorsOfLayout, loss_agrees_with_the_reference_for_all_others_and_shapes) {
  for (const Shapes& shapes : kShapes) {
    Shapes loss = shapes;
    const auto both =
        broadcast(Dims(shapes.self.data(), shapes.self.size()), Dims(shapes.target.data(), shapes.target.size()));
    loss.gradInput.assign(both->begin(), both->end());
    for (Layout b : all_layouts())
      for (Layout o : output_layouts())
        for (int64_t reduction : {0, 1, 2}) {
          if (reduction != 0 && o != Layout::kContiguous) continue;  // one element has no layout
          for (DataType t : kFloats)
            check_forward(t, DataType::kFloat, t, loss, GetParam(), b, o, reduction, 0.3f, false);
        }
  }
}

// Valid calls, from which tests/spec_test.cc makes a failing one for every rule.
[[maybe_unused]] const bool sampled[] = {
    add_sample<SmoothL1Loss>("aclnnSmoothL1Loss",
                             [](Sample& s) -> SmoothL1Loss::Params {
                               return {s.tensor(DataType::kFloat, {2, 3}), s.tensor(DataType::kFloat, {3}), 0, 1,
                                       s.tensor(DataType::kFloat, {2, 3})};
                             }),
    // No input's shape is another's: each rule on shapes can be broken alone.
    add_sample<SmoothL1LossBackward>("aclnnSmoothL1LossBackward",
                                     [](Sample& s) -> SmoothL1LossBackward::Params {
                                       return {s.tensor(DataType::kFloat, {2, 1}),
                                               s.tensor(DataType::kFloat, {1, 3}),
                                               s.tensor(DataType::kFloat, {2, 3}),
                                               1,
                                               1,
                                               s.tensor(DataType::kFloat, {2, 3})};
                                     }),
};

}  // namespace
}  // namespace descend::test::smooth_l1_loss
