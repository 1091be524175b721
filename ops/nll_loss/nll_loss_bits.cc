// SPDX-License-Identifier: MIT
// The calls of the negative log likelihood loss whose bits never change.
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"
#include "src/base/text.h"
#include "tests/bits/bits.h"
#include "tests/harness/dtypes.h"

namespace descend::test {
namespace {

constexpr int64_t kNone = 0, kMean = 1, kSum = 2, kIgnored = 2;
// One class, planes that fill no vector, several tiles; few classes and more than a table has.
const std::vector<Sizes> kShapes{{2, 3, 5, 7}, {1, 4, 16, 40}, {2, 600, 3, 3}, {3, 1, 9, 7}, {1, 2, 23, 67}, {7},
                                 {700, 2},     {37, 10},       {5, 64},        {5, 65},      {3, 700}};

std::string words_of(int64_t reduction) {
  return reduction == kNone ? ", none" : reduction == kMean ? ", mean" : ", sum";
}

struct Case {
  Sizes self;
  DataType dtype = DataType::kFloat, target = DataType::kInt64, out = DataType::kFloat;
  int64_t reduction = kNone;
  bool finite = false;

  bool planes() const { return self.size() == 4; }
  Sizes positions() const {
    Sizes left = self;
    left.erase(left.begin() + (self.size() > 1));
    return left;
  }
  int64_t classes() const { return self[self.size() > 1]; }
  std::vector<double> values(uint64_t seed) const {
    return finite ? finite_values(dtype, seed) : mixed_values(dtype, seed);
  }
  std::string words() const {
    return cat(label(dtype, self), out == dtype ? "" : " to " + descend::name(out), words_of(reduction));
  }
};

void forward(BitCall& call, const Case& c, Way way) {
  const Sizes loss = c.reduction == kNone ? c.positions() : Sizes{};
  call.run(c.planes() ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize,
           c.planes() ? aclnnNLLLoss2d : aclnnNLLLoss, call.in(c.dtype, c.self, c.values(1), way.in),
           call.labels(c.target, c.positions(), c.classes(), kIgnored, way.in),
           call.in(c.dtype, {c.classes()}, c.values(2), way.in), c.reduction, kIgnored, call.out(c.out, loss, way.out),
           call.out(c.out, {}));
}
void backward(BitCall& call, const Case& c, Way way) {
  const Sizes loss = c.reduction == kNone ? c.positions() : Sizes{};
  const auto run = [&](auto phase_one, PhaseTwo phase_two) {
    call.run(phase_one, phase_two, call.in(c.dtype, loss, {0.7, -1.3, 2.5, 1e-3, 40, 0}, way.in),
             call.in(c.dtype, c.self, {0}, way.in), call.labels(c.target, c.positions(), c.classes(), kIgnored, way.in),
             call.in(c.dtype, {c.classes()}, c.values(2), way.in), c.reduction, kIgnored, call.in(c.dtype, {}, {3.7}),
             call.out(c.out, c.self, way.out));
  };
  c.planes() ? run(aclnnNLLLoss2dBackwardGetWorkspaceSize, aclnnNLLLoss2dBackward)
             : run(aclnnNLLLossBackwardGetWorkspaceSize, aclnnNLLLossBackward);
}

void add(Bits& bits, const Case& c, Way way = {}) {
  const std::string name = c.planes() ? "aclnnNLLLoss2d" : "aclnnNLLLoss";
  const std::string words = cat("by ", descend::name(c.target), ", ", way.words());
  bits.add(name + " " + c.words(), words, [=](BitCall& call) { forward(call, c, way); });
  if (!c.planes() || c.out == c.dtype)
    bits.add(name + "Backward " + c.words(), words, [=](BitCall& call) { backward(call, c, way); });
}

[[maybe_unused]] const bool added = add_bits("nll_loss", [](Bits& bits) {
  for (DataType t : kFloats)
    for (int64_t reduction : {kNone, kMean, kSum}) {
      for (const Sizes& shape : kShapes) add(bits, {shape, t, DataType::kInt64, t, reduction, reduction != kNone});
      for (const Sizes& shape : {Sizes{2, 5, 6, 13}, Sizes{41, 7}, Sizes{2, 600}})
        for (DataType target : kTargets)
          for (const Way& way : all_ways())
            if (shape[1] < 255 || target != DataType::kUint8)
              add(bits, {shape, t, target, t, reduction, reduction != kNone}, way);
      for (DataType out : kOutputs)
        if (out != t && reduction != kSum)
          for (const Sizes& shape : {Sizes{41, 9}, Sizes{2, 3, 5, 7}})
            add(bits, {shape, t, DataType::kInt32, out, reduction, reduction != kNone});
    }
  // Planes and long rows that the caches do not keep while they are written.
  for (DataType t : kFloats)
    for (int64_t reduction : {kNone, kMean}) {
      add(bits, {{1, 5, t == DataType::kFloat ? 257 : 513, 263}, t, DataType::kInt64, t, reduction, true});
      add(bits, {{150, t == DataType::kFloat ? 4099 : 8197}, t, DataType::kInt64, t, reduction, true});
    }
  // Sums of more chunks than one, and more classes than a block of them has.
  for (int64_t reduction : {kMean, kSum}) {
    for (const Way& way : {Way{}, Way{Layout::kChannelsLast, Layout::kChannelsLast}})
      add(bits, {{2, 3, 131, 269}, DataType::kFloat, DataType::kUint8, DataType::kFloat, reduction, true}, way);
    add(bits, {{50, 2000}, DataType::kFloat, DataType::kInt64, DataType::kFloat, reduction, true});
    add(bits, {{3, 66000}, DataType::kFloat16, DataType::kInt32, DataType::kFloat16, reduction, true});
  }
  // Planes of more classes than a thread has, and so many that two bytes do not hold their numbers.
  for (DataType t : kFloats)
    for (int64_t reduction : {kNone, kMean}) {
      add(bits, {{1, 200, 4, 8}, t, DataType::kInt64, t, reduction, true});
      add(bits, {{1, 140000, 1, 8}, t, DataType::kInt64, t, reduction, true});
    }
  // One of which groups have several chunks.
  const Case long_sum{{9000011, 2}, DataType::kFloat16, DataType::kUint8, DataType::kFloat, kMean, true};
  bits.add("aclnnNLLLoss " + long_sum.words(), Way{}.words(), [=](BitCall& call) { forward(call, long_sum, {}); });
});

}  // namespace
}  // namespace descend::test
