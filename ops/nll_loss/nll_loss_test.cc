// SPDX-License-Identifier: MIT
// The negative log likelihood loss and its gradient through the C API, against their references.
#include "ops/nll_loss/nll_loss_test.h"

namespace descend::test::nll_loss {
namespace {

TEST_F(NLLLossOperators, agree_with_the_reference_for_all_dtypes_and_shapes) {
  for (const auto* shapes : {&kPlanes, &kRows})
    for (const Sizes& self : *shapes)
      for (DataType dtype : kFloats)
        for (DataType target : kTargets)
          for (int64_t reduction : {kNone, kMean, kSum}) {
            const Case c{.self = self, .dtype = dtype, .target = target, .out = dtype, .reduction = reduction};
            check_backward(c);
            check_forward(c);
          }
}

TEST_F(NLLLossOperators, agree_with_the_reference_for_all_outputs) {
  for (const Sizes& self : {Sizes{7}, Sizes{70, 5}, Sizes{3, 601}, Sizes{2, 3, 5, 7}})
    for (DataType dtype : kFloats)
      for (DataType out : kOutputs)
        for (int64_t reduction : {kNone, kMean, kSum}) {
          const Case c{.self = self, .dtype = dtype, .out = out, .reduction = reduction, .specials = reduction == 0};
          if (self.size() < 4) check_backward(c);
          check_forward(c);
        }
  for (DataType dtype : kFloats)  // rows of an output that is not made of neighbours, and not rounded as self is
    for (DataType out : kOutputs)
      for (Layout layout : output_layouts())
        check_backward({.self = {70, 37}, .dtype = dtype, .out = out, .out_layout = layout});
}

TEST_F(NLLLossOperators, agree_with_the_reference_for_infinities_nan_and_subnormals) {
  for (DataType dtype : kFloats)
    for (const Sizes& self : {Sizes{2, 17, 9, 31}, Sizes{300, 17}, Sizes{40, 600}}) {
      for (int64_t reduction : {kNone, kMean, kSum})
        check_backward({.self = self, .dtype = dtype, .out = dtype, .reduction = reduction, .specials = true});
      check_forward({.self = self, .dtype = dtype, .out = dtype, .specials = true});
    }
}

TEST_F(NLLLossOperators, agree_with_the_reference_for_all_layouts) {
  for (const Sizes& self : {Sizes{2, 3, 5, 7}, Sizes{2, 5, 1, 600}, Sizes{40, 3, 1, 1}, Sizes{300, 3}, Sizes{3, 600}})
    for (Layout in : all_layouts())
      for (Layout out : output_layouts())
        for (int64_t reduction : {kNone, kSum}) {
          Case c{.self = self, .reduction = reduction, .out_layout = out};
          c.self_layout = c.target_layout = c.gradient_layout = c.weight_layout = in;
          check_backward(c);
          c.dtype = c.out = DataType::kFloat16;
          check_backward(c);
          check_forward(c);
        }
}

// Rows of two tiles, of which eight share the lines of INT64 targets, and three are left.
TEST_F(NLLLossOperators, targets_may_lie_across_the_rows) {
  for (DataType target : kTargets)
    for (int64_t reduction : {kNone, kMean})
      check_backward(
          {.self = {2, 3, 19, 520}, .target = target, .reduction = reduction, .target_layout = Layout::kChannelsLast});
}

TEST_F(NLLLossOperators, weights_of_planes_may_have_any_rank) {
  for (const Sizes& weight : {Sizes{1, 12, 1, 1}, Sizes{3, 4}, Sizes{2, 1, 3, 2}, Sizes{12, 1, 1, 1, 1, 1, 1, 1}})
    for (Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kNegative})
      for (int64_t reduction : {kNone, kMean}) {
        const Case c{.self = {2, 12, 3, 5}, .reduction = reduction, .weight_layout = layout, .weight = weight};
        check_backward(c);
        check_forward(c);
      }
  check_backward({.self = {2, 601, 3, 1}, .reduction = kSum, .weight_layout = Layout::kTransposed, .weight = {1, 601}});
}

TEST_F(NLLLossOperators, ignored_targets_may_be_any_number) {
  for (int64_t ignoreIndex : {int64_t{0}, int64_t{2}, int64_t{-1}, int64_t{5}, int64_t{255}, kLeast, kMost})
    for (DataType target : kTargets)
      for (int64_t reduction : {kNone, kMean, kSum})
        for (const Sizes& self : {Sizes{2, 5, 3, 7}, Sizes{50, 5}}) {
          const Case c{.self = self, .target = target, .reduction = reduction, .ignoreIndex = ignoreIndex};
          check_backward(c);
          check_forward(c);
        }
}

TEST_F(NLLLossOperators, many_neighbours_are_written_in_runs) {
  // Planes of more positions than are written at a time, of more classes than a block has.
  for (DataType dtype : kFloats) check_backward({.self = {1, 3, 61, 71}, .dtype = dtype, .out = dtype});
  // More than a MiB of few classes, which are written plane by plane.
  for (DataType dtype : kFloats) check_backward({.self = {1, 5, 513, 263}, .dtype = dtype, .out = dtype});
  check_backward({.self = {1, 300, 1, 2100}, .reduction = kMean});
}

TEST_F(NLLLossOperators, many_classes_are_written_in_blocks) {
  // More than a block, in rows and in planes, and more than 16 bits count; the last class of each block and the first.
  for (DataType dtype : {DataType::kFloat16, DataType::kFloat})
    for (const Sizes& self : {Sizes{2, 140000}, Sizes{1, 70000, 1, 2}}) {
      const int64_t classes = classes_of(self), planes = self.size() == 4;
      const Sizes positions = positions_of(self);
      Tensor gradOutput(dtype, {}), target(DataType::kInt64, positions), weight(dtype, {classes}), total(dtype, {}),
          nothing(dtype, self), out(dtype, self);
      gradOutput.fill({1});
      weight.fill({2, 3, 5});
      for (Tensor* t : {&gradOutput, &weight}) t->upload();
      for (int64_t c : {int64_t{0}, int64_t{32766}, int64_t{32767}, int64_t{32768}, int64_t{65534}, int64_t{65535},
                        int64_t{65536}, classes - 1}) {
        for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, i == 0 ? c : c - i);
        target.upload();
        ASSERT_EQ(backward(gradOutput, nothing, target, weight, kSum, -100, total, out), 0) << recent_error();
        out.download();
        int64_t written = 0;
        for (int64_t i = 0; i < out.size(); ++i) written += out.get(i) != 0;
        ASSERT_EQ(written, c == 0 ? 1 : target.size()) << c;
        for (int64_t i = 0; i < written; ++i) {
          const int64_t at = planes ? (c - i) * 2 + i : i * classes + c - i;
          ASSERT_EQ(out.get(at), -weight.get(c - i)) << "class " << c - i;
        }
      }
    }
}

// A thread remembers its calls: those of rows must not pass for calls of planes, whose parameters are alike.
TEST_F(NLLLossOperators, calls_of_rows_and_of_planes_are_told_apart) {
  const auto f = DataType::kFloat;
  Tensor planes(f, {1, 3, 1, 1}), plane(DataType::kInt64, {1, 1, 1}), rows(f, {2, 3}), targets(DataType::kInt64, {2}),
      weight(f, {3}), one(f, {1}), total(f, {1});
  for (Tensor* t : {&planes, &plane, &rows, &targets, &weight, &one, &total}) t->fill({0}), t->upload();
  ASSERT_EQ(forward(planes, plane, weight, kSum, 0, one, total), 0);
  ASSERT_EQ(forward(rows, targets, weight, kSum, 0, one, total), 0);
  ASSERT_EQ(backward(one, planes, plane, weight, kSum, 0, total, planes), 0);
  ASSERT_EQ(backward(one, rows, targets, weight, kSum, 0, total, rows), 0);
  const auto of = [&](auto phase_one, auto... parameters) {
    uint64_t size;
    aclOpExecutor* executor;
    return phase_one(parameters..., &size, &executor);
  };
  EXPECT_EQ(of(aclnnNLLLossGetWorkspaceSize, planes.on_device(), plane.on_device(), weight.on_device(), kSum, 0,
               one.on_device(), total.on_device()),
            161002);
  EXPECT_EQ(of(aclnnNLLLoss2dGetWorkspaceSize, rows.on_device(), targets.on_device(), weight.on_device(), kSum, 0,
               one.on_device(), total.on_device()),
            161002);
  EXPECT_EQ(of(aclnnNLLLossBackwardGetWorkspaceSize, one.on_device(), planes.on_device(), plane.on_device(),
               weight.on_device(), kSum, 0, total.on_device(), planes.on_device()),
            161002);
  EXPECT_EQ(of(aclnnNLLLoss2dBackwardGetWorkspaceSize, one.on_device(), rows.on_device(), targets.on_device(),
               weight.on_device(), kSum, 0, total.on_device(), rows.on_device()),
            161002);
}

TEST_F(NLLLossOperators, shapes_that_do_not_belong_together_fail) {
  const auto f = DataType::kFloat;
  Tensor one(f, {1}), one_of_two(f, {1, 1}), one_of_three(f, {1, 1, 1}), two(f, {2}), scalar(f, {}), w3(f, {3}),
      w0(f, {0}), w1(f, {1});
  Tensor planes(f, {1, 3, 1, 1}), plane(DataType::kInt64, {1, 1, 1}), rows(f, {2, 3}), row(f, {3}), none(f, {2, 0}),
      no_class(f, {0}), targets(DataType::kInt64, {2}), target(DataType::kInt64, {}),
      target_of_one(DataType::kInt64, {1}), targets_32(DataType::kInt32, {1, 2});
  for (Tensor* t : {&plane, &targets, &target, &target_of_one}) t->fill({0}), t->upload();
  for (Tensor* t : {&one, &one_of_two, &one_of_three, &two, &scalar, &w3, &w1, &planes, &rows, &row}) t->upload();
  // none: target's shape; otherwise one element in at most one dimension
  EXPECT_EQ(backward(one_of_three, planes, plane, w3, kNone, 0, one, planes), 0);
  EXPECT_EQ(backward(one, planes, plane, w3, kNone, 0, one, planes), 161002);
  EXPECT_NE(recent_error().find("gradOutput must satisfy: has the shape of target when reduction is 0"),
            std::string::npos);
  EXPECT_EQ(backward(scalar, planes, plane, w3, kNone, 0, one, planes), 161002);
  for (int64_t reduction : {kMean, kSum}) {
    EXPECT_EQ(backward(one, planes, plane, w3, reduction, 0, one_of_three, planes), 0);
    EXPECT_EQ(backward(scalar, planes, plane, w3, reduction, 0, scalar, planes), 0);
    EXPECT_EQ(backward(one_of_two, planes, plane, w3, reduction, 0, one, planes), 161002);
    EXPECT_EQ(backward(one_of_three, planes, plane, w3, reduction, 0, one, planes), 161002);
    EXPECT_EQ(backward(two, planes, plane, w3, reduction, 0, one, planes), 161002);
    EXPECT_EQ(backward(two, rows, targets, w3, reduction, 0, one, rows), 161002);
    EXPECT_EQ(backward(one, rows, targets, w3, reduction, 0, two, rows), 161002);
  }
  for (int64_t reduction : {int64_t{-1}, int64_t{3}, kLeast, kMost}) {
    EXPECT_EQ(backward(one, rows, targets, w3, reduction, 0, one, rows), 161002);
    EXPECT_EQ(forward(rows, targets, w3, reduction, 0, one, one), 161002);
  }
  EXPECT_EQ(backward(two, rows, targets, w3, kNone, 0, one, rows), 0);
  EXPECT_EQ(backward(one, rows, targets, w3, kNone, 0, one, rows), 161002);
  EXPECT_EQ(backward(one, rows, targets_32, w3, kSum, 0, one, rows), 161002);
  // a row: its target has no dimension
  EXPECT_EQ(backward(scalar, row, target, w3, kNone, 0, one, row), 0);
  EXPECT_EQ(backward(one, row, target_of_one, w3, kSum, 0, one, row), 161002);
  EXPECT_EQ(forward(row, target, w3, kNone, 0, scalar, one), 0);
  EXPECT_EQ(forward(row, target_of_one, w3, kSum, 0, one, one_of_two), 161002);
  // rows without classes
  EXPECT_EQ(backward(one, none, targets, w0, kSum, 0, one, none), 161002);
  EXPECT_NE(recent_error().find("self must satisfy: has a class when target is not empty"), std::string::npos);
  EXPECT_EQ(forward(none, targets, w0, kSum, 0, one, one_of_two), 161002);
  EXPECT_EQ(forward(no_class, target, w0, kSum, 0, one, one_of_two), 161002);
  // weights of rows have one dimension, those of planes have any
  Tensor w13(f, {1, 3}), lone(f, {2, 1, 1, 1}), lone_targets(DataType::kInt64, {2, 1, 1});
  lone_targets.fill({0});
  for (Tensor* t : {&w13, &lone, &lone_targets}) t->upload();
  EXPECT_EQ(backward(one, rows, targets, w13, kSum, 0, one, rows), 161002);
  EXPECT_EQ(backward(one, rows, targets, w1, kSum, 0, one, rows), 161002);
  EXPECT_EQ(backward(one, planes, plane, w13, kSum, 0, one, planes), 0);
  EXPECT_EQ(backward(one, lone, lone_targets, scalar, kSum, 0, one, lone), 0);
  EXPECT_EQ(forward(planes, plane, w13, kSum, 0, one, one_of_two), 0);
  // an output of planes has self's dtype, one of rows may differ
  Tensor planes_16(DataType::kFloat16, {1, 3, 1, 1}), rows_16(DataType::kFloat16, {2, 3}),
      rows_int(DataType::kInt32, {2, 3});
  EXPECT_EQ(backward(one, planes, plane, w3, kSum, 0, one, planes_16), 161002);
  EXPECT_EQ(backward(one, rows, targets, w3, kSum, 0, one, rows_16), 0);
  EXPECT_EQ(backward(one, rows, targets, w3, kSum, 0, one, rows_int), 161002);
}

// Valid calls, from which tests/spec_test.cc makes a failing one for every rule.  With a reduction, so that target's
// shape is no other tensor's.
NLLLossParams forward_sample(Sample& s, const Sizes& self, const Sizes& target) {
  return {s.tensor(DataType::kFloat, self),
          s.tensor(DataType::kInt64, target),
          s.tensor(DataType::kFloat, {3}),
          kMean,
          -100,
          s.tensor(DataType::kFloat, {1}),
          s.tensor(DataType::kFloat, {})};
}
NLLLossBackwardParams backward_sample(Sample& s, const Sizes& self, const Sizes& target) {
  return {s.tensor(DataType::kFloat, {1}),
          s.tensor(DataType::kFloat, self),
          s.tensor(DataType::kInt64, target),
          s.tensor(DataType::kFloat, {3}),
          kMean,
          -100,
          s.tensor(DataType::kFloat, {1}),
          s.tensor(DataType::kFloat, self)};
}
[[maybe_unused]] const bool sampled[] = {
    add_sample<NLLLoss>("aclnnNLLLoss",
                        [](Sample& s) {
                          return forward_sample(s, {4, 3}, {4});
                        }),
    add_sample<NLLLoss2d>("aclnnNLLLoss2d",
                          [](Sample& s) {
                            return forward_sample(s, {2, 3, 4, 5}, {2, 4, 5});
                          }),
    add_sample<NLLLossBackward>("aclnnNLLLossBackward",
                                [](Sample& s) {
                                  return backward_sample(s, {4, 3}, {4});
                                }),
    add_sample<NLLLoss2dBackward>("aclnnNLLLoss2dBackward",
                                  [](Sample& s) {
                                    return backward_sample(s, {2, 3, 4, 5}, {2, 4, 5});
                                  }),
};

}  // namespace
}  // namespace descend::test::nll_loss
