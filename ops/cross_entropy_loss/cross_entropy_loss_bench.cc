// SPDX-License-Identifier: MIT
// What is timed of the cross entropy: a small call, image classes, vocabularies of language models, and a layout.
#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

char kMean[] = "mean";
constexpr int64_t kIgnored = -100;

void add_gradient(Grid& grid, aclDataType dtype, const Sizes& shape, double smoothing = 0,
                  Layout in = Layout::kContiguous, const std::string& more = "") {
  grid.add("aclnnCrossEntropyLossGrad", label(dtype, shape, "mean" + more), [=](Call& call) {
    aclTensor* gradLoss = call.reads("gradLoss", {.dtype = dtype});
    aclTensor* logProb = call.reads("logProb", {.dtype = dtype, .shape = shape, .layout = in});
    aclTensor* target = call.reads("target", {.dtype = ACL_INT64, .shape = {shape[0]}, .classes = shape[1]});
    aclTensor* weight = call.reads("weight", {.shape = {shape[1]}});
    aclTensor* out = call.writes("out", {.dtype = dtype, .shape = shape});
    call.number("smoothing", smoothing);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnCrossEntropyLossGradGetWorkspaceSize(gradLoss, logProb, target, weight, nullptr, nullptr, kMean,
                                                           kIgnored, smoothing, 0, out, size, executor);
        },
        aclnnCrossEntropyLossGrad);
  });
}

void add_forward(Grid& grid, aclDataType dtype, const Sizes& shape) {
  grid.add("aclnnCrossEntropyLoss", label(dtype, shape, "mean"), [=](Call& call) {
    aclTensor* input = call.reads("input", {.dtype = dtype, .shape = shape});
    aclTensor* target = call.reads("target", {.dtype = ACL_INT64, .shape = {shape[0]}, .classes = shape[1]});
    aclTensor* weight = call.reads("weight", {.shape = {shape[1]}});
    aclTensor* loss = call.writes("loss", {.dtype = dtype});
    aclTensor* logProb = call.writes("logProb", {.dtype = dtype, .shape = shape});
    aclTensor* zloss = call.ignores("zloss", {.dtype = dtype});
    aclTensor* lse = call.ignores("lse", {.dtype = dtype, .shape = {shape[0]}});
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnCrossEntropyLossGetWorkspaceSize(input, target, weight, kMean, kIgnored, 0, 0, false, loss,
                                                       logProb, zloss, lse, size, executor);
        },
        aclnnCrossEntropyLoss);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  std::vector<Sizes> shapes{{2, 8}, {65536, 10}, {1024, 1000}, {128, 128256}};
  if (!grid.quick()) shapes.insert(shapes.end(), {{1, 128256}, {4096, 32000}});
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16})
    for (const Sizes& shape : shapes) {
      add_gradient(grid, dtype, shape);
      add_forward(grid, dtype, shape);
    }
  add_gradient(grid, ACL_FLOAT, {1024, 1000}, 0.1, Layout::kContiguous, ", smoothing");
  add_gradient(grid, ACL_FLOAT, {1024, 1000}, 0, Layout::kTransposed, ", transposed");
});

}  // namespace
}  // namespace descend::bench
