// SPDX-License-Identifier: MIT
// The calls of the smooth L1 loss whose bits never change.
#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"
#include "src/base/text.h"
#include "tests/bits/bits.h"
#include "tests/harness/dtypes.h"

namespace descend::test {
namespace {

constexpr int64_t kNone = 0, kMean = 1, kSum = 2;
// Usual ones, and some that leave the quick way.
const std::vector<float> kBetas{1, 0.11f, 30, 0, 1e-30f, 1e30f};

std::string words_of(int64_t reduction) {
  return reduction == kNone ? ", none" : reduction == kMean ? ", mean" : ", sum";
}

struct Shapes {
  Sizes gradOut, self, target, result;
};
Shapes same(const Sizes& shape, int64_t reduction) {
  return {reduction == kNone ? shape : Sizes{}, shape, shape, shape};
}

struct Case {
  DataType self = DataType::kFloat, target = DataType::kFloat, result = DataType::kFloat;
  Shapes shapes;
  int64_t reduction = kNone;
  float beta = 1;
  bool finite = false;  // sums of anything else are mostly NaN
  bool large = false;   // and losses that float does not hold

  std::vector<double> values(DataType dtype, uint64_t seed) const {
    if (large) return {3e38, 1, -3e38, 2.5, -0.75, static_cast<double>(seed), -3e38};
    if (finite) return finite_values(dtype, seed);
    // Pairs that are almost the same: their differences are subnormal, or their slopes are.
    return mixed_values(dtype, seed, {1e-19, -1e-19, 1e-25, 3e38, -3e38, 0.11, 2, 30});
  }
};

void forward(BitCall& call, const Case& c, Way way) {
  call.run(aclnnSmoothL1LossGetWorkspaceSize, aclnnSmoothL1Loss,
           call.in(c.self, c.shapes.self, c.values(c.self, 1), way.in),
           call.in(c.target, c.shapes.target, c.values(c.target, 2), way.in), c.reduction, c.beta,
           call.out(c.result, c.reduction == kNone ? c.shapes.result : Sizes{}, way.out));
}
void backward(BitCall& call, const Case& c, Way way) {
  call.run(aclnnSmoothL1LossBackwardGetWorkspaceSize, aclnnSmoothL1LossBackward,
           call.in(c.self, c.shapes.gradOut, c.values(c.self, 3), way.in),
           call.in(c.self, c.shapes.self, c.values(c.self, 1), way.in),
           call.in(c.target, c.shapes.target, c.values(c.target, 2), way.in), c.reduction, c.beta,
           call.out(c.result, c.shapes.result, way.out));
}

void add(Bits& bits, const std::string& words, const Case& c, Way way = {}) {
  const bool is_float =
      c.result == DataType::kFloat || c.result == DataType::kFloat16 || c.result == DataType::kBfloat16;
  bits.add("aclnnSmoothL1Loss " + words, way.words(), [=](BitCall& call) { forward(call, c, way); });
  if (is_float)
    bits.add("aclnnSmoothL1LossBackward " + words, way.words(), [=](BitCall& call) { backward(call, c, way); });
}

[[maybe_unused]] const bool added = add_bits("smooth_l1_loss", [](Bits& bits) {
  for (DataType t : kFloats)
    for (int64_t reduction : {kNone, kMean, kSum}) {
      Case c{t, t, t, same({7, 5, 37}, reduction), reduction, 0.3f, reduction != kNone};
      for (const Way& way : all_ways()) add(bits, label(t, {7, 5, 37}) + words_of(reduction), c, way);
      c.shapes = same({997}, reduction);
      for (float beta : kBetas) {
        c.beta = beta;
        add(bits, cat(label(t, {997}), words_of(reduction), ", beta ", beta), c);
      }
      c.beta = 1;
      c.shapes = {{4, 1, 1}, {4, 1, 37}, {5, 1}, {4, 5, 37}};
      add(bits, label(t, {4, 1, 37}) + " and [5,1]" + words_of(reduction), c);
      for (const Layout layout : {Layout::kContiguous, Layout::kOffset})
        bits.add(cat("aclnnSmoothL1Loss ", descend::name(t), " of 1 to 67 elements", words_of(reduction)), name(layout),
                 [=](BitCall& call) {
                   for (int64_t n = 1; n <= 67; ++n) {
                     Case of_n = c;
                     of_n.shapes = same({n}, reduction);
                     forward(call, of_n, {layout, layout});
                     backward(call, of_n, {layout, layout});
                   }
                 });
      c.result = DataType::kFloat;  // which holds the sum
      c.shapes = same({70001}, reduction);
      add(bits, label(t, {70001}) + words_of(reduction), c);
      if (reduction == kMean) {  // of so many terms that threads share chunks, not tiles
        c.shapes = same({600011}, reduction);
        add(bits, label(t, {600011}) + words_of(reduction), c);
        c.shapes = same({9000011}, reduction);  // and that groups have several chunks
        bits.add("aclnnSmoothL1Loss " + label(t, {9000011}) + words_of(reduction), Way{}.words(),
                 [=](BitCall& call) { forward(call, c, {}); });
      }
      // Rows that a GPU's blocks share.
      c.shapes = {{3, 4104}, {3, 4104}, {4104}, {3, 4104}};
      if (reduction == kNone) add(bits, label(t, {3, 4104}) + " and [4104]" + words_of(reduction), c);
      // A sum of more chunks than one, of operands that are not neighbours.
      c.shapes = same({191, 367}, reduction);
      for (const Way& way : {Way{}, Way{Layout::kTransposed, Layout::kTransposed}})
        add(bits, label(t, {191, 367}) + words_of(reduction), c, way);
    }
  for (DataType t : {DataType::kFloat, DataType::kBfloat16}) {
    Case c{t, t, DataType::kDouble, {{}, {5, 307}, {307}, {5, 307}}, kMean};
    c.large = true;
    add(bits, label(t, {5, 307}) + " of large numbers to DOUBLE, mean", c);
  }
  for (DataType self : kFloats)
    for (DataType target : kFloats)
      for (DataType result : kOutputs)
        for (int64_t reduction : {kNone, kMean})
          if (self == target ? result != self : reduction == kNone)
            add(bits,
                cat(label(self, {257}), " and ", descend::name(target), " to ", descend::name(result),
                    words_of(reduction)),
                {self, target, result, same({257}, reduction), reduction, 0.7f, reduction != kNone});
});

}  // namespace
}  // namespace descend::test
