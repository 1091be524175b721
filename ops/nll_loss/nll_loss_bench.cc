// SPDX-License-Identifier: MIT
// What is timed of the negative log likelihood loss: planes and rows of classes, from small calls to memory's size.
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

constexpr int64_t kNone = 0, kMean = 1, kIgnored = -100;
std::string name_of(int64_t reduction) { return reduction == kNone ? "none" : "mean"; }

Sizes positions_of(Sizes self) {
  self.erase(self.begin() + 1);
  return self;
}
// So small that a FLOAT16 can hold the sum of millions.
TensorSpec weights(aclDataType dtype, int64_t classes) {
  return {.dtype = dtype, .shape = {classes}, .low = 0.002f, .high = 0.01f};
}

// The layout is that of self and out; or, when broadcast, of gradOutput.
void add_backward(Grid& grid, aclDataType dtype, const Sizes& shape, int64_t reduction,
                  Layout layout = Layout::kContiguous) {
  const bool planes = shape.size() == 4, repeated = layout == Layout::kRepeated;
  const Layout full = repeated ? Layout::kContiguous : layout;
  grid.add(planes ? "aclnnNLLLoss2dBackward" : "aclnnNLLLossBackward",
           label(dtype, shape, name_of(reduction) + suffix(layout)), [=](Call& call) {
             const Sizes positions = positions_of(shape);
             aclTensor* gradOutput = call.reads("gradOutput", {.dtype = dtype,
                                                               .shape = reduction == kNone ? positions : Sizes{},
                                                               .layout = repeated ? layout : Layout::kContiguous});
             aclTensor* self = call.ignores("self", {.dtype = dtype, .shape = shape, .layout = full});
             aclTensor* target = call.reads("target", {.dtype = ACL_INT64, .shape = positions, .classes = shape[1]});
             aclTensor* weight = call.picks("weight", weights(dtype, shape[1]), "target");
             aclTensor* total = call.reads("totalWeight", {.dtype = dtype, .shape = {}, .low = 1, .high = 100});
             aclTensor* out = call.writes("out", {.dtype = dtype, .shape = shape, .layout = full});
             call.number("reduction", static_cast<double>(reduction));
             call.number("ignoreIndex", kIgnored);
             call.runs(
                 [=](uint64_t* size, aclOpExecutor** executor) {
                   return planes ? aclnnNLLLoss2dBackwardGetWorkspaceSize(gradOutput, self, target, weight, reduction,
                                                                          kIgnored, total, out, size, executor)
                                 : aclnnNLLLossBackwardGetWorkspaceSize(gradOutput, self, target, weight, reduction,
                                                                        kIgnored, total, out, size, executor);
                 },
                 planes ? aclnnNLLLoss2dBackward : aclnnNLLLossBackward);
           });
}

void add_forward(Grid& grid, aclDataType dtype, const Sizes& shape, int64_t reduction,
                 Layout layout = Layout::kContiguous) {
  const bool planes = shape.size() == 4;
  const std::string text = label(dtype, shape, name_of(reduction) + suffix(layout));
  grid.add(planes ? "aclnnNLLLoss2d" : "aclnnNLLLoss", text, [=](Call& call) {
    const Sizes positions = positions_of(shape);
    aclTensor* target = call.reads("target", {.dtype = ACL_INT64, .shape = positions, .classes = shape[1]});
    aclTensor* self = call.picks("self", {.dtype = dtype, .shape = shape, .layout = layout}, "target");
    aclTensor* weight = call.picks("weight", weights(dtype, shape[1]), "target");
    aclTensor* out = call.writes("out", {.dtype = dtype, .shape = reduction == kNone ? positions : Sizes{}});
    const TensorSpec number{.dtype = dtype, .shape = {}};
    aclTensor* total =
        reduction == kNone ? call.ignores("totalWeightOut", number) : call.writes("totalWeightOut", number);
    call.number("reduction", static_cast<double>(reduction));
    call.number("ignoreIndex", kIgnored);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return (planes ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize)(
              self, target, weight, reduction, kIgnored, out, total, size, executor);
        },
        planes ? aclnnNLLLoss2d : aclnnNLLLoss);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  const Sizes segmentation{8, 21, 512, 512}, rows{1 << 20, 10};
  std::vector<Sizes> shapes{{1, 4, 2, 2}, {1, 21, 32, 32}, segmentation, {2, 8}, {256, 1000}, rows};
  if (!grid.quick())
    shapes.insert(shapes.end(), {{2, 1000, 7, 7}, {16, 10}, {1 << 16, 10}, {1 << 23, 10}, {256, 50000}, {4096, 32000}});
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const Sizes& shape : shapes)
      for (const int64_t reduction : {kMean, kNone}) {
        if (grid.quick() && reduction == kNone) continue;
        add_backward(grid, dtype, shape, reduction);
        add_forward(grid, dtype, shape, reduction);
      }
    if (grid.quick() && dtype != ACL_FLOAT) continue;
    add_backward(grid, dtype, segmentation, kMean, Layout::kChannelsLast);
    add_forward(grid, dtype, segmentation, kMean, Layout::kChannelsLast);
    if (grid.quick()) continue;
    for (const Sizes& shape : {segmentation, rows})
      for (const Layout layout : {Layout::kTransposed, Layout::kRepeated}) {
        add_backward(grid, dtype, shape, layout == Layout::kRepeated ? kNone : kMean, layout);
        add_forward(grid, dtype, shape, kMean, layout);
      }
  }
});

}  // namespace
}  // namespace descend::bench
