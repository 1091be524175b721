// SPDX-License-Identifier: MIT
// What is timed of the smooth L1 loss: small calls, tensors from the cache's size to memory's, boxes, and layouts.
#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

constexpr int64_t kNone = 0, kMean = 1;
std::string name_of(int64_t reduction) { return reduction == kNone ? "none" : "mean"; }

void add_backward(Grid& grid, aclDataType dtype, const Sizes& shape, int64_t reduction,
                  Layout in = Layout::kContiguous) {
  grid.add("aclnnSmoothL1LossBackward", label(dtype, shape, name_of(reduction) + suffix(in)), [=](Call& call) {
    aclTensor* gradOut = call.reads("gradOut", {.dtype = dtype, .shape = reduction == kNone ? shape : Sizes{}});
    aclTensor* self = call.reads("self", {.dtype = dtype, .shape = shape, .layout = in});
    aclTensor* target = call.reads("target", {.dtype = dtype, .shape = shape});
    aclTensor* gradInput = call.writes("gradInput", {.dtype = dtype, .shape = shape});
    call.number("reduction", static_cast<double>(reduction));
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnSmoothL1LossBackwardGetWorkspaceSize(gradOut, self, target, reduction, 1.0f, gradInput, size,
                                                           executor);
        },
        aclnnSmoothL1LossBackward);
  });
}

void add_forward(Grid& grid, aclDataType dtype, const Sizes& shape, int64_t reduction,
                 Layout in = Layout::kContiguous) {
  grid.add("aclnnSmoothL1Loss", label(dtype, shape, name_of(reduction) + suffix(in)), [=](Call& call) {
    aclTensor* self = call.reads("self", {.dtype = dtype, .shape = shape, .layout = in});
    aclTensor* target = call.reads("target", {.dtype = dtype, .shape = shape});
    aclTensor* result = call.writes("result", {.dtype = dtype, .shape = reduction == kNone ? shape : Sizes{}});
    call.number("reduction", static_cast<double>(reduction));
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnSmoothL1LossGetWorkspaceSize(self, target, reduction, 1.0f, result, size, executor);
        },
        aclnnSmoothL1Loss);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const int64_t n : grid.line_sizes()) {
      add_backward(grid, dtype, {n}, kMean);
      if (!grid.quick()) add_backward(grid, dtype, {n}, kNone);
      add_forward(grid, dtype, {n}, kMean);
      if (!grid.quick()) add_forward(grid, dtype, {n}, kNone);
    }
    add_backward(grid, dtype, {8, 8732, 4}, kMean);
    add_forward(grid, dtype, {8, 8732, 4}, kMean);
    if (grid.quick() && dtype == ACL_FLOAT16) continue;
    for (const auto& [shape, layout] : grid.views()) {
      add_backward(grid, dtype, shape, layout == Layout::kRepeated ? kNone : kMean, layout);
      if (!grid.quick()) add_forward(grid, dtype, shape, layout == Layout::kRepeated ? kMean : kNone, layout);
    }
  }
});

}  // namespace
}  // namespace descend::bench
