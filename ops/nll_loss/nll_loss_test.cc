// SPDX-License-Identifier: MIT
// The negative log likelihood loss and its gradient through the C API, against their references.
#include "ops/nll_loss/nll_loss.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>

#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/targets.h"
#include "src/base/environment.h"
#include "tests/harness/call.h"
#include "tests/harness/samples.h"
#include "tests/harness/tensor.h"

namespace descend::test {
namespace {

const std::vector<DataType> kFloats{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};
const std::vector<DataType> kTargets{DataType::kInt64, DataType::kInt32, DataType::kUint8};
// Everything a floating dtype converts to.
const std::vector<DataType> kOutputs{DataType::kFloat,     DataType::kFloat16,   DataType::kBfloat16,
                                     DataType::kDouble,    DataType::kComplex32, DataType::kComplex64,
                                     DataType::kComplex128};
constexpr int64_t kNone = 0, kMean = 1, kSum = 2;
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One class, one position, planes that fill no vector, one tile and several; more classes than a table has.
const std::vector<Sizes> kPlanes{{1, 1, 1, 1}, {3, 5, 1, 1}, {2, 3, 5, 7}, {1, 4, 16, 40}, {2, 600, 3, 3},
                                 {3, 1, 9, 7}, {2, 2, 1, 2}, {0, 3, 2, 2}, {2, 0, 3, 3},   {2, 3, 0, 4}};
const std::vector<Sizes> kRows{{1}, {7}, {5, 3}, {1, 1}, {700, 2}, {3, 40}, {6, 1}, {2, 700}, {0, 4}, {0, 0}};

Sizes positions_of(const Sizes& self) {
  Sizes left = self;
  left.erase(left.begin() + (self.size() > 1));
  return left;
}
int64_t classes_of(const Sizes& self) { return self[self.size() > 1]; }

// The harness's layouts and channels last: the classes innermost.
const std::string kChannelsLast = "channels last";
std::vector<std::string> layouts(bool of_output) {
  std::vector<std::string> all{kChannelsLast};
  for (Layout l : of_output ? output_layouts() : all_layouts()) all.push_back(name(l));
  return all;
}
View view_of(const Sizes& shape, const std::string& layout) {
  for (Layout l : all_layouts())
    if (name(l) == layout) return lay_out(shape, l);
  if (shape.size() < 2) return lay_out(shape, Layout::kContiguous);
  Sizes moved = shape;
  moved.erase(moved.begin() + 1);
  moved.push_back(shape[1]);
  View view = lay_out(moved, Layout::kContiguous);
  view.strides.insert(view.strides.begin() + 1, view.strides.back());
  view.strides.pop_back();
  return view;
}

int32_t forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignoreIndex,
                const Tensor& out, const Tensor& total, uint64_t* workspace = nullptr) {
  const bool planes = self.shape().size() == 4;
  return call(planes ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize,
              planes ? aclnnNLLLoss2d : aclnnNLLLoss, workspace, self.on_device(), target.on_device(),
              weight.on_device(), reduction, ignoreIndex, out.on_device(), total.on_device());
}
int32_t backward_of(const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target,
                    const aclTensor* weight, int64_t reduction, int64_t ignoreIndex, aclTensor* total, aclTensor* out,
                    uint64_t* workspace = nullptr) {
  if (self->shape.size() == 4)
    return call(aclnnNLLLoss2dBackwardGetWorkspaceSize, aclnnNLLLoss2dBackward, workspace, gradOutput, self, target,
                weight, reduction, ignoreIndex, total, out);
  return call(aclnnNLLLossBackwardGetWorkspaceSize, aclnnNLLLossBackward, workspace, gradOutput, self, target, weight,
              reduction, ignoreIndex, total, out);
}
int32_t backward(const Tensor& gradOutput, const Tensor& self, const Tensor& target, const Tensor& weight,
                 int64_t reduction, int64_t ignoreIndex, const Tensor& total, const Tensor& out,
                 uint64_t* workspace = nullptr) {
  return backward_of(gradOutput.on_device(), self.on_device(), target.on_device(), weight.on_device(), reduction,
                     ignoreIndex, total.on_device(), out.on_device(), workspace);
}

// Every class, and numbers that are none: those around the classes and the ends of every dtype.
void fill_targets(Tensor& target, int64_t classes) {
  const int64_t strange[] = {-1, classes, kLeast, kMost, -100, classes + 1, int64_t{1} << 32, 255};
  Random random(3);
  for (int64_t i = 0; i < target.size(); ++i) {
    const auto r = static_cast<int64_t>(random.bits() >> 1);
    target.set_integer(i, r % 4 == 0 ? strange[r / 4 % 8] : classes == 0 ? 0 : r / 4 % classes);
  }
}
void fill_random(Tensor& t, uint64_t seed) {
  Random random(seed);
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, random.next());
}

void expect_close(const Tensor& out, const Tensor& expected, DataType rounded, int64_t bound,
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
  std::string self_layout = "contiguous", target_layout = "contiguous", out_layout = "contiguous",
              weight_layout = "contiguous", gradient_layout = "contiguous";
  Sizes weight = {};  // its shape, when it is not one dimension
  bool specials = false;
};
std::string describe_case(const Case& c) {
  return cat(descend::describe(Dims(c.self.data(), c.self.size())), " ", descend::name(c.dtype), " targets ",
             descend::name(c.target), " to ", descend::name(c.out), " reduction ", c.reduction, " ignoring ",
             c.ignoreIndex, ": self ", c.self_layout, ", target ", c.target_layout, ", out ", c.out_layout, ", weight ",
             c.weight_layout, ", gradOutput ", c.gradient_layout);
}

void check_backward(const Case& c) {
  const std::string where = cat("gradient of ", describe_case(c));
  const Sizes weights = c.weight.empty() ? Sizes{classes_of(c.self)} : c.weight;
  const Sizes positions = positions_of(c.self), gradient = c.reduction == kNone ? positions : Sizes{1};
  Tensor gradOutput(c.dtype, gradient, view_of(gradient, c.gradient_layout)),
      self(c.dtype, c.self, view_of(c.self, c.self_layout)),
      target(c.target, positions, view_of(positions, c.target_layout)),
      weight(c.dtype, weights, view_of(weights, c.weight_layout)), total(c.dtype, {1, 1}),
      out(c.out, c.self, view_of(c.self, c.out_layout)), expected(c.out, c.self, view_of(c.self, c.out_layout));
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

void check_forward(const Case& c) {
  const std::string where = cat("loss of ", describe_case(c));
  const Sizes weights = c.weight.empty() ? Sizes{classes_of(c.self)} : c.weight;
  const Sizes positions = positions_of(c.self), loss = c.reduction == kNone ? positions : Sizes{1, 1, 1};
  Tensor self(c.dtype, c.self, view_of(c.self, c.self_layout)),
      target(c.target, positions, view_of(positions, c.target_layout)),
      weight(c.dtype, weights, view_of(weights, c.weight_layout));
  Tensor out(c.out, loss, view_of(loss, c.out_layout)), expected(c.out, loss, view_of(loss, c.out_layout)),
      total(c.out, {1}), expected_total(c.out, {1});
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
      for (const std::string& layout : layouts(true))
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
    for (const std::string& in : layouts(false))
      for (const std::string& out : layouts(true))
        for (int64_t reduction : {kNone, kSum}) {
          Case c{.self = self, .reduction = reduction, .out_layout = out};
          c.self_layout = c.target_layout = c.gradient_layout = c.weight_layout = in;
          check_backward(c);
          c.dtype = c.out = DataType::kFloat16;
          check_backward(c);
          check_forward(c);
        }
}

TEST_F(NLLLossOperators, weights_of_planes_may_have_any_rank) {
  for (const Sizes& weight : {Sizes{1, 12, 1, 1}, Sizes{3, 4}, Sizes{2, 1, 3, 2}, Sizes{12, 1, 1, 1, 1, 1, 1, 1}})
    for (const char* layout : {"contiguous", "transposed", "negative stride"})
      for (int64_t reduction : {kNone, kMean}) {
        const Case c{.self = {2, 12, 3, 5}, .reduction = reduction, .weight_layout = layout, .weight = weight};
        check_backward(c);
        check_forward(c);
      }
  check_backward({.self = {2, 601, 3, 1}, .reduction = kSum, .weight_layout = "transposed", .weight = {1, 601}});
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
      for (int64_t c :
           {int64_t{0}, int64_t{32766}, int64_t{32767}, int64_t{65534}, int64_t{65535}, int64_t{65536}, classes - 1}) {
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

TEST_F(NLLLossOperators, a_gradient_of_one_adds_up_to_minus_one) {
  for (const Sizes& self : {Sizes{3, 11, 8, 9}, Sizes{50, 11}})
    for (int64_t ignoreIndex : {-100, 3}) {
      Tensor x(DataType::kFloat, self), target(DataType::kInt32, positions_of(self)), weight(DataType::kFloat, {11}),
          loss(DataType::kFloat, {}), total(DataType::kFloat, {}), one(DataType::kFloat, {}),
          out(DataType::kFloat, self);
      fill_targets(target, 11);
      weight.fill({0.5, 1, 2, 0.25, 3});
      x.fill({-1, -2, -0.5});
      one.fill({1});
      for (Tensor* t : {&x, &target, &weight, &one}) t->upload();
      ASSERT_EQ(forward(x, target, weight, kMean, ignoreIndex, loss, total), 0);
      ASSERT_EQ(backward(one, x, target, weight, kMean, ignoreIndex, total, out), 0);
      out.download();
      double sum = 0;
      for (int64_t i = 0; i < out.size(); ++i) sum += out.get(i);
      EXPECT_NEAR(sum, -1, 1e-5);
    }
}

TEST_F(NLLLossOperators, gradient_is_the_slope_of_the_loss) {
  constexpr double kStep = 1e-3;  // the loss is a straight line
  for (const Sizes& shape : {Sizes{2, 4, 2, 3}, Sizes{6, 4}, Sizes{4}})
    for (int64_t reduction : {kMean, kSum}) {
      const Sizes positions = positions_of(shape);
      Tensor one(DataType::kFloat, {}), self(DataType::kFloat, shape), target(DataType::kInt64, positions),
          weight(DataType::kFloat, {4}), total(DataType::kFloat, {}), out(DataType::kFloat, shape);
      Tensor x(DataType::kDouble, shape), w(DataType::kDouble, {4}), loss(DataType::kDouble, {}),
          exact_total(DataType::kDouble, {});
      one.fill({1.5});
      for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, (i + 1) % 5);  // 4 is no class
      fill_random(x, 1);
      weight.fill({0.5, 2, 0.25, 1});
      w.fill({0.5, 2, 0.25, 1});
      const bool planes = shape.size() == 4;
      NLLLossParams p{x.on_host(), target.on_host(), w.on_host(), reduction, 3, loss.on_host(), exact_total.on_host()};
      const auto at = [&](int64_t i, double value) {
        const double kept = x.get(i);
        x.set(i, value);
        find_operator(planes ? "aclnnNLLLoss2d" : "aclnnNLLLoss")->reference(&p);
        x.set(i, kept);
        return loss.get(0);
      };
      at(0, x.get(0));
      total.set(0, exact_total.get(0));
      for (Tensor* t : {&one, &target, &weight, &total}) t->upload();
      ASSERT_EQ(backward(one, self, target, weight, reduction, 3, total, out), 0) << recent_error();
      out.download();
      double largest = 0;
      for (int64_t i = 0; i < x.size(); ++i) {
        const double slope = (at(i, x.get(i) + kStep) - at(i, x.get(i) - kStep)) / (2 * kStep);
        EXPECT_NEAR(out.get(i), 1.5 * slope, 1e-6) << "element " << i;
        largest = std::max(largest, std::fabs(slope));
      }
      EXPECT_GT(largest, 0.05);
    }
}

TEST_F(NLLLossOperators, of_nothing_counted_the_mean_is_nan_and_the_sums_are_0) {
  struct Nothing {
    Sizes self;
    int64_t target;
  };
  for (const Nothing& n : std::vector<Nothing>{{{2, 3, 2, 2}, 1},
                                               {{2, 3, 2, 2}, 3},
                                               {{0, 3, 2, 2}, 0},
                                               {{2, 0, 2, 2}, 0},
                                               {{0, 0, 0, 0}, 0},
                                               {{4, 3}, 1},
                                               {{4, 3}, -7},
                                               {{0, 3}, 0},
                                               {{0, 0}, 0},
                                               {{3}, 1}}) {
    const Sizes positions = positions_of(n.self);
    Tensor self(DataType::kFloat, n.self), target(DataType::kInt64, positions),
        weight(DataType::kFloat, {classes_of(n.self)}), out(DataType::kFloat, {1}), total(DataType::kFloat, {});
    self.fill({std::nan("")});  // not even looked at
    weight.fill({kInfinity});
    for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, n.target);
    for (int64_t reduction : {kMean, kSum}) {
      for (Tensor* t : {&self, &target, &weight, &out, &total}) t->upload();
      uint64_t workspace = 1;
      ASSERT_EQ(forward(self, target, weight, reduction, 1, out, total, &workspace), 0) << recent_error();
      EXPECT_EQ(workspace, 0u);
      out.download();
      total.download();
      EXPECT_EQ(total.get(0), 0);
      if (reduction == kMean)
        EXPECT_TRUE(std::isnan(out.get(0)));
      else
        EXPECT_EQ(out.get(0), 0);
    }
    Tensor losses(DataType::kFloat, positions), gradient(DataType::kFloat, n.self), one(DataType::kFloat, {1});
    one.fill({kInfinity});
    one.upload();
    total.upload();
    ASSERT_EQ(forward(self, target, weight, kNone, 1, losses, total), 0) << recent_error();
    ASSERT_EQ(backward(one, self, target, weight, kMean, 1, total, gradient), 0) << recent_error();
    for (Tensor* t : {&losses, &gradient}) {
      t->download();
      for (int64_t i = 0; i < t->size(); ++i) ASSERT_EQ(t->bits(i), std::string(4, '\0'));
    }
  }
}

TEST_F(NLLLossOperators, a_total_of_0_divides_as_ieee_says) {
  for (const Sizes& self : {Sizes{1, 3, 1, 4}, Sizes{4, 3}}) {
    Tensor gradOutput(DataType::kFloat, {}), target(DataType::kUint8, positions_of(self)),
        weight(DataType::kFloat, {3}), total(DataType::kFloat, {}), out(DataType::kFloat, self);
    weight.fill({2, -1, 0});
    for (int64_t i = 0; i < 4; ++i) target.set_integer(i, i);
    for (double g : {1.0, -1.0, 0.0})
      for (double zero : {0.0, -0.0}) {
        gradOutput.fill({g});
        total.fill({zero});
        for (Tensor* t : {&gradOutput, &target, &weight, &total}) t->upload();
        ASSERT_EQ(backward(gradOutput, out, target, weight, kMean, -100, total, out), 0) << recent_error();
        out.download();
        for (int64_t position = 0; position < 4; ++position)
          for (int64_t c = 0; c < 3; ++c) {
            const double found = out.get(self.size() == 4 ? c * 4 + position : position * 3 + c);
            if (c != position)
              EXPECT_EQ(found, 0);
            else if (c == 2 || g == 0)
              EXPECT_TRUE(std::isnan(found));
            else
              EXPECT_EQ(found, -(g / zero * weight.get(c)));
          }
      }
  }
}

TEST_F(NLLLossOperators, means_of_numbers_at_the_ends_of_the_range_lose_nothing) {
  // In float the quotient would be subnormal, with a few bits left.
  Tensor g(DataType::kFloat, {}), self(DataType::kFloat, {1}), target(DataType::kInt64, {}),
      weight(DataType::kFloat, {1}), total(DataType::kFloat, {}), out(DataType::kFloat, {1});
  g.fill({0x1.8p-80});
  total.fill({0x1.4p66});
  weight.fill({0x1p100});
  target.fill({0});
  for (Tensor* t : {&g, &target, &weight, &total}) t->upload();
  ASSERT_EQ(backward(g, self, target, weight, kMean, -1, total, out), 0);
  out.download();
  EXPECT_EQ(out.get(0), double{static_cast<float>(-0x1.8p-80 / 0x1.4p66 * 0x1p100)});
}

TEST_F(NLLLossOperators, many_terms_are_added_without_loss) {
  // A float sum one after the other stops growing at 2^24.  One number in memory stands for all of a tensor's.
  constexpr int64_t kCount = 50'000'000;
  Tensor x(DataType::kFloat, {1}), t(DataType::kUint8, {1}), weight(DataType::kFloat, {1}), out(DataType::kFloat, {}),
      total(DataType::kFloat, {});
  x.fill({-1.1});
  t.fill({0});
  weight.fill({0.7});
  for (Tensor* each : {&x, &t, &weight}) each->upload();
  const int64_t shape[] = {kCount, 1}, strides[] = {0, 0};
  aclTensor* self = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 16, ACL_FORMAT_ND, shape, 2, x.device_data());
  aclTensor* target = aclCreateTensor(shape, 1, ACL_UINT8, strides, 16, ACL_FORMAT_ND, shape, 1, t.device_data());
  for (int64_t reduction : {kSum, kMean}) {
    ASSERT_EQ(call(aclnnNLLLossGetWorkspaceSize, aclnnNLLLoss, nullptr, self, target, weight.on_device(), reduction,
                   int64_t{-100}, out.on_device(), total.on_device()),
              0);
    out.download();
    total.download();
    const double sum = double{1.1f} * double{0.7f} * kCount;
    EXPECT_EQ(out.get(0), reduction == kMean ? double{1.1f} : double{static_cast<float>(sum)});
    EXPECT_EQ(total.get(0), double{static_cast<float>(double{0.7f} * kCount)});
  }
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyTensor(target), 0);
}

// Memory that nothing may read or write.
class ForbiddenMemory {
 public:
  ForbiddenMemory() : at_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(at_, MAP_FAILED);
  }
  ~ForbiddenMemory() { EXPECT_EQ(munmap(at_, kBytes), 0); }
  ForbiddenMemory(const ForbiddenMemory&) = delete;
  ForbiddenMemory& operator=(const ForbiddenMemory&) = delete;
  void* at() const { return at_; }

 private:
  static constexpr size_t kBytes = 1 << 16;
  void* at_;
};

TEST_F(NLLLossOperators, gradient_reads_neither_self_nor_a_total_it_does_not_need) {
  const ForbiddenMemory forbidden;
  for (const Sizes& shape : {Sizes{2, 3, 4, 5}, Sizes{40, 3}})
    for (const bool one_element : {false, true})
      for (int64_t reduction : {kNone, kSum}) {
        const Sizes positions = positions_of(shape), zeros(shape.size(), 0);
        const int64_t* strides = one_element ? zeros.data() : nullptr;
        aclTensor* self = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides, 0, ACL_FORMAT_ND,
                                          shape.data(), shape.size(), forbidden.at());
        aclTensor* total =
            aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, forbidden.at());
        Tensor gradOutput(DataType::kFloat, reduction == kNone ? positions : Sizes{}),
            target(DataType::kInt64, positions), weight(DataType::kFloat, {3}), out(DataType::kFloat, shape);
        gradOutput.fill({2});
        weight.fill({1, 2, 3});
        for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, 1);
        for (Tensor* t : {&gradOutput, &target, &weight}) t->upload();
        ASSERT_EQ(backward_of(gradOutput.on_device(), self, target.on_device(), weight.on_device(), reduction, -100,
                              total, out.on_device()),
                  0);
        out.download();
        double sum = 0;
        for (int64_t i = 0; i < out.size(); ++i) sum += out.get(i);
        EXPECT_EQ(sum, -4.0 * static_cast<double>(target.size()));
        EXPECT_EQ(aclDestroyTensor(self), 0);
        EXPECT_EQ(aclDestroyTensor(total), 0);
      }
}

TEST_F(NLLLossOperators, reach_elements_more_than_2_to_the_31_apart) {
  // Of 6 GiB only the pages around a few elements are ever touched.
  constexpr int64_t kFar = (int64_t{1} << 31) - 5, kBegin = 3;
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, static_cast<size_t>(3 * kFar / 2 + 100) * 2, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  Tensor one(DataType::kFloat16, {}), weight(DataType::kFloat16, {2}), loss(DataType::kFloat16, {}),
      total(DataType::kFloat16, {});
  one.fill({1});
  weight.fill({2, 4});
  for (Tensor* t : {&one, &weight}) t->upload();
  struct Far {
    Sizes shape, strides;
    int64_t offset;
  };
  // The last element lies beyond 2^31 along the rows, the classes, all four dimensions, and by the offset.
  for (const Far& far : std::vector<Far>{{{2, 2}, {3 * kFar / 2, 1}, kBegin},
                                         {{2, 2}, {1, 3 * kFar / 2}, kBegin},
                                         {{2, 2}, {-2, -(3 * kFar / 2)}, 3 * kFar / 2 + 20},
                                         {{2, 2}, {2, 1}, 3 * kFar / 2},
                                         {{2, 2, 2, 2}, {kFar / 4, kFar, kFar / 8, kFar / 16}, kBegin},
                                         {{2, 2, 1, 3}, {7, kFar, kFar, 1}, kBegin}}) {
    const Sizes positions = positions_of(far.shape);
    aclTensor* there = aclCreateTensor(far.shape.data(), far.shape.size(), ACL_FLOAT16, far.strides.data(), far.offset,
                                       ACL_FORMAT_ND, far.shape.data(), far.shape.size(), memory);
    Tensor target(DataType::kInt64, positions);
    for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, 1);
    target.upload();
    ASSERT_EQ(backward_of(one.on_device(), there, target.on_device(), weight.on_device(), kSum, -100, total.on_device(),
                          there),
              0)
        << recent_error();
    auto* elements = static_cast<uint16_t*>(memory) + far.offset;
    Sizes at(far.shape.size(), 0);
    for (int64_t i = 0; i < 4 * target.size() / 2; ++i) {
      int64_t rest = i, element = 0;
      for (size_t k = at.size(); k-- > 0; rest /= far.shape[k])
        at[k] = rest % far.shape[k], element += at[k] * far.strides[k];
      EXPECT_EQ(elements[element], at[1] == 1 ? 0xc400 : 0) << i;  // -4
    }
    const bool planes = far.shape.size() == 4;
    ASSERT_EQ(call(planes ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize,
                   planes ? aclnnNLLLoss2d : aclnnNLLLoss, nullptr, there, target.on_device(), weight.on_device(), kSum,
                   int64_t{-100}, loss.on_device(), total.on_device()),
              0)
        << recent_error();
    loss.download();
    EXPECT_EQ(loss.get(0), 16.0 * static_cast<double>(target.size()));
    EXPECT_EQ(aclDestroyTensor(there), 0);
  }
  EXPECT_EQ(aclrtFree(memory), 0);
}

TEST_F(NLLLossOperators, strides_that_leave_the_address_space_fail) {
  const int64_t shape[] = {2, 3, 4, 5}, positions[] = {2, 4, 5};
  const int64_t wild[] = {kMost, kMost / 2, 1, kMost / 3};
  Tensor self(DataType::kFloat, {2, 3, 4, 5}), target(DataType::kInt64, {2, 4, 5}), weight(DataType::kFloat, {3}),
      one(DataType::kFloat, {}), out(DataType::kFloat, {2, 3, 4, 5});
  aclTensor* wild_self = aclCreateTensor(shape, 4, ACL_FLOAT, wild, 0, ACL_FORMAT_ND, shape, 4, self.device_data());
  aclTensor* wild_target =
      aclCreateTensor(positions, 3, ACL_INT64, wild, 0, ACL_FORMAT_ND, positions, 3, target.device_data());
  const auto ask = [&](const aclTensor* s, const aclTensor* t, aclTensor* o) {
    return backward_of(one.on_device(), s, t, weight.on_device(), kSum, -100, one.on_device(), o);
  };
  EXPECT_EQ(ask(wild_self, target.on_device(), out.on_device()), 161002);
  EXPECT_NE(recent_error().find("self must satisfy: has strides and an offset that stay in the address space"),
            std::string::npos);
  EXPECT_EQ(ask(self.on_device(), wild_target, out.on_device()), 161002);
  EXPECT_EQ(ask(self.on_device(), target.on_device(), wild_self), 161002);
  EXPECT_EQ(ask(self.on_device(), target.on_device(), out.on_device()), 0);
  EXPECT_EQ(call(aclnnNLLLoss2dGetWorkspaceSize, aclnnNLLLoss2d, nullptr, wild_self, target.on_device(),
                 weight.on_device(), kSum, int64_t{0}, one.on_device(), one.on_device()),
            161002);
  EXPECT_EQ(aclDestroyTensor(wild_self), 0);
  EXPECT_EQ(aclDestroyTensor(wild_target), 0);
}

TEST_F(NLLLossOperators, empty_tensors_need_no_memory_and_no_sensible_strides) {
  const int64_t shape[] = {2, 0, 3, 4}, classes[] = {0}, wild[] = {5, kLeast, kMost, kMost - 1};
  Tensor target(DataType::kInt64, {2, 3, 4}), out(DataType::kFloat, {2, 3, 4}), total(DataType::kFloat, {});
  target.fill({0, 1, -1});
  target.upload();
  out.upload();
  aclTensor* self = aclCreateTensor(shape, 4, ACL_FLOAT, wild, kMost - 9, ACL_FORMAT_ND, shape, 4, nullptr);
  aclTensor* weight = aclCreateTensor(classes, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, classes, 1, nullptr);
  for (int64_t reduction : {kNone, kSum}) {
    const aclTensor* loss = reduction == kNone ? out.on_device() : total.on_device();
    ASSERT_EQ(call(aclnnNLLLoss2dGetWorkspaceSize, aclnnNLLLoss2d, nullptr, self, target.on_device(), weight, reduction,
                   int64_t{7}, const_cast<aclTensor*>(loss), total.on_device()),
              0)
        << recent_error();
  }
  out.download();
  total.download();
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.get(i), 0);
  EXPECT_EQ(total.get(0), 0);
  ASSERT_EQ(backward_of(total.on_device(), self, target.on_device(), weight, kSum, 7, total.on_device(), self), 0);
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyTensor(weight), 0);
}

TEST_F(NLLLossOperators, gradient_may_be_written_over_self) {
  for (const Sizes& shape : {Sizes{2, 3, 4, 5}, Sizes{40, 3}}) {
    Tensor g(DataType::kFloat, {1}), self(DataType::kFloat, shape), target(DataType::kInt32, positions_of(shape)),
        weight(DataType::kFloat, {3}), total(DataType::kFloat, {}), out(DataType::kFloat, shape);
    g.fill({3});
    weight.fill({1, 2, 3});
    self.fill({std::nan("")});
    fill_targets(target, 3);
    for (Tensor* t : {&g, &self, &target, &weight}) t->upload();
    uint64_t workspace = 1;
    ASSERT_EQ(backward(g, self, target, weight, kSum, 1, total, out), 0);
    ASSERT_EQ(backward(g, self, target, weight, kSum, 1, total, self, &workspace), 0);
    EXPECT_EQ(workspace, 0u);
    out.download();
    self.download();
    for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(self.bits(i), out.bits(i)) << i;
  }
}

TEST_F(NLLLossOperators, gradient_over_any_other_input_reads_it_first) {
  // out is memory in which, in turn, the inputs lie: at its end, which is written late, or its beginning.
  const Sizes shape{600, 2, 2, 2}, positions{600, 2, 2};
  constexpr int64_t kMargin = 16, kElements = 4800;
  Tensor separate(DataType::kFloat, shape), memory(DataType::kFloat, shape);
  const auto view = [&](aclDataType dtype, const Sizes& s, int64_t element) {  // from a float of `memory` on
    const int64_t offset = (element + kMargin) * 4 / (dtype == ACL_INT64 ? 8 : dtype == ACL_UINT8 ? 1 : 4);
    return aclCreateTensor(s.data(), s.size(), dtype, nullptr, offset, ACL_FORMAT_ND, s.data(), s.size(),
                           memory.device_data());
  };
  for (int over = 0; over < 5; ++over)
    for (const int64_t at : {int64_t{0}, kElements / 2, kElements - 2}) {
      if (over < 3 && at == kElements - 2) continue;  // too large for the last two
      const int64_t reduction = over == 0 ? kNone : kMean;
      Tensor g(DataType::kFloat, reduction == kNone ? positions : Sizes{1}), target(DataType::kUint8, positions),
          weight(DataType::kFloat, {2}), total(DataType::kFloat, {1});
      g.fill({1, 2, 3});
      weight.fill({5, 7});
      total.fill({2});
      for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, i % 3);
      for (int64_t i = 0; i < memory.size(); ++i) memory.set(i, 0.5);
      // The input that lies in out: gradOutput, INT32 target, UINT8 target, weight, totalWeight.
      if (over == 0)
        for (int64_t i = 0; i < g.size(); ++i) memory.set(at + i, g.get(i));
      if (over == 3) memory.set(at, 5), memory.set(at + 1, 7);
      if (over == 4) memory.set(at, 2);
      for (Tensor* t : {&g, &target, &weight, &total, &memory}) t->upload();
      auto* bytes = static_cast<char*>(memory.device_data()) + (at + kMargin) * 4;
      for (int32_t i = 0; i < 2400 && over == 1; ++i) {
        const int32_t t = i % 3;
        ASSERT_EQ(aclrtMemcpy(bytes + i * 4, 4, &t, 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
      }
      for (int i = 0; i < 2400 && over == 2; ++i) {
        const auto t = static_cast<uint8_t>(i % 3);
        ASSERT_EQ(aclrtMemcpy(bytes + i, 1, &t, 1, ACL_MEMCPY_HOST_TO_DEVICE), 0);
      }
      aclTensor* input = over == 0   ? view(ACL_FLOAT, positions, at)
                         : over == 1 ? view(ACL_INT32, positions, at)
                         : over == 2 ? view(ACL_UINT8, positions, at)
                                     : view(ACL_FLOAT, over == 3 ? Sizes{2} : Sizes{1}, at);
      uint64_t workspace = 0;
      ASSERT_EQ(backward(g, separate, target, weight, reduction, -100, total, separate), 0);
      ASSERT_EQ(backward_of(over == 0 ? input : g.on_device(), separate.on_device(),
                            over == 1 || over == 2 ? input : target.on_device(), over == 3 ? input : weight.on_device(),
                            reduction, -100, over == 4 ? input : total.on_device(), memory.on_device(), &workspace),
                0)
          << recent_error();
      EXPECT_GT(workspace, 0u);
      memory.download();
      separate.download();
      for (int64_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory.get(i), separate.get(i)) << over << ", " << i;
      EXPECT_EQ(aclDestroyTensor(input), 0);
    }
}

TEST_F(NLLLossOperators, results_over_the_weights_read_them_first) {
  Tensor g(DataType::kFloat, {}), self(DataType::kFloat, {4}), target(DataType::kInt64, {}), w(DataType::kFloat, {4}),
      total(DataType::kFloat, {});
  g.fill({1});
  w.fill({2, 3, 4, 5});
  target.fill({2});
  for (Tensor* t : {&g, &target, &w}) t->upload();
  ASSERT_EQ(backward(g, self, target, w, kNone, -1, total, w), 0) << recent_error();
  w.download();
  for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(w.get(c), c == 2 ? -4 : 0);

  constexpr int64_t kCount = 40000;  // losses that are their own weights, over several tasks
  Tensor rows(DataType::kFloat, {kCount, kCount}, View{{0, 0}, 0, 1}), targets(DataType::kInt32, {kCount}),
      weights(DataType::kFloat, {kCount});
  rows.set(0, -1);
  for (int64_t i = 0; i < kCount; ++i) {
    targets.set_integer(i, kCount - 1 - i);
    weights.set(i, static_cast<double>(i));
  }
  for (Tensor* t : {&rows, &targets, &weights}) t->upload();
  ASSERT_EQ(forward(rows, targets, weights, kNone, -1, weights, total), 0) << recent_error();
  weights.download();
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(weights.get(i), static_cast<double>(kCount - 1 - i));
}

TEST_F(NLLLossOperators, shapes_that_do_not_belong_together_fail) {
  const auto f = DataType::kFloat;
  Tensor one(f, {1}), one_of_two(f, {1, 1}), one_of_three(f, {1, 1, 1}), two(f, {2}), scalar(f, {}), w3(f, {3}),
      w0(f, {0}), w1(f, {1});
  Tensor planes(f, {1, 3, 1, 1}), plane(DataType::kInt64, {1, 1, 1}), rows(f, {2, 3}), row(f, {3}), none(f, {2, 0}),
      no_class(f, {0}), targets(DataType::kInt64, {2}), target(DataType::kInt64, {}),
      target_of_one(DataType::kInt64, {1}), targets_32(DataType::kInt32, {1, 2});
  for (Tensor* t : {&plane, &targets, &target, &target_of_one}) t->fill({0}), t->upload();
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
  lone_targets.upload();
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

// The results of both functions for the same values, as bits in logical order; a NaN is one NaN.
std::string digest(DataType dtype, const Sizes& shape, const std::string& in, const std::string& written) {
  const Sizes positions = positions_of(shape), classes{classes_of(shape)};
  Tensor gradOutput(dtype, positions, view_of(positions, in)), self(dtype, shape, view_of(shape, in)),
      target(DataType::kInt64, positions, view_of(positions, in)), weight(dtype, classes, view_of(classes, in)),
      one(dtype, {1}), total(dtype, {}), gradient(dtype, shape, view_of(shape, written)),
      loss(dtype, positions, view_of(positions, written)), sum(DataType::kFloat, {}), weights(DataType::kFloat, {});
  gradOutput.fill(landmarks(dtype, {0.3, 1e-4, 77}));
  fill_random(self, 4);
  fill_random(weight, 5);
  fill_targets(target, classes[0]);
  one.fill({1.1});
  total.fill({3.3});
  for (Tensor* t : {&gradOutput, &self, &target, &weight, &one, &total}) t->upload();
  std::string bits;
  const auto keep = [&](int status, std::initializer_list<Tensor*> results) {
    EXPECT_EQ(status, 0) << recent_error();
    for (Tensor* t : results) {
      t->download();
      for (int64_t i = 0; i < t->size(); ++i) bits += std::isnan(t->get(i)) ? "NaN" : t->bits(i);
    }
  };
  keep(backward(gradOutput, self, target, weight, kNone, 1, total, gradient), {&gradient});
  keep(backward(one, self, target, weight, kMean, 1, total, gradient), {&gradient});
  keep(forward(self, target, weight, kNone, 1, loss, weights), {&loss});
  keep(forward(self, target, weight, kMean, 1, sum, weights), {&sum, &weights});
  keep(forward(self, target, weight, kSum, 1, sum, weights), {&sum});
  return bits;
}

TEST_F(NLLLossOperators, same_bits_for_any_layout) {
  for (DataType dtype : kFloats)
    for (const Sizes& shape : {Sizes{1009, 3}, Sizes{3, 5, 7, 11}, Sizes{2, 3, 1, 700}, Sizes{2, 600, 1, 5}}) {
      const std::string expected = digest(dtype, shape, "contiguous", "contiguous");
      for (const std::string& in : layouts(true))  // broadcasting changes the values
        for (const std::string& out : layouts(true))
          ASSERT_TRUE(digest(dtype, shape, in, out) == expected) << descend::name(dtype) << " " << in << " to " << out;
    }
}

TEST_F(NLLLossOperators, same_bits_for_any_number_of_threads) {
  for (DataType dtype : kFloats)
    for (const Sizes& shape : {Sizes{70000, 3}, Sizes{3, 5, 70, 301}, Sizes{50, 2000}}) {
      std::vector<std::string> digests;
      for (const char* threads : {"1", "2", "3", "7"}) {
        setenv("DESCEND_THREADS", threads, 1);
        reread_environment();
        ASSERT_EQ(parallel_width(), std::atoi(threads));
        digests.push_back(digest(dtype, shape, "transposed", kChannelsLast) +
                          digest(dtype, shape, "contiguous", "contiguous"));
      }
      unsetenv("DESCEND_THREADS");
      reread_environment();
      for (const std::string& d : digests) EXPECT_TRUE(d == digests[0]) << descend::name(dtype);
    }
}

TEST_F(NLLLossOperators, same_bits_for_any_simd_target) {
  ASSERT_GE(cpu_targets().size(), 2u);  // SCALAR is always there to compare with
  for (DataType dtype : kFloats)
    for (const Sizes& shape : {Sizes{129, 7}, Sizes{3, 5, 7, 101}, Sizes{40, 601}}) {
      const std::string expected = digest(dtype, shape, "contiguous", "contiguous");
      for (std::string_view target : cpu_targets()) {
        ASSERT_TRUE(set_cpu_target(target));
        for (const std::string& out : {std::string("contiguous"), std::string("every second element"), kChannelsLast})
          EXPECT_TRUE(digest(dtype, shape, "contiguous", out) == expected)
              << descend::name(dtype) << " " << out << " on " << target;
      }
      set_cpu_target({});
    }
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
}  // namespace descend::test
