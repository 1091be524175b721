// SPDX-License-Identifier: MIT
// What is timed of the cross entropy: a small call, image classes, vocabularies of language models, and a layout.
#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

char kMean[] = "mean", kNone[] = "none";
constexpr int64_t kIgnored = -100;

struct Variant {
  double smoothing = 0;
  bool none = false;                      // no reduction
  Layout scores = Layout::kContiguous;    // of the input
  Layout gradient = Layout::kContiguous;  // of gradLoss, without a reduction
  std::string text() const {
    return (none ? "none" : "mean") + std::string(smoothing ? ", smoothing" : "") + suffix(scores) + suffix(gradient);
  }
};

// So small that PyTorch, which has them in FLOAT16 too, can add them up.
TensorSpec weights(int64_t classes) { return {.shape = {classes}, .low = 0.1f, .high = 0.5f}; }

void add_gradient(Grid& grid, aclDataType dtype, const Sizes& shape, const Variant& v = {}) {
  grid.add("aclnnCrossEntropyLossGrad", label(dtype, shape, v.text()), [=](Call& call) {
    aclTensor* gradLoss =
        call.reads("gradLoss", {.dtype = dtype, .shape = v.none ? Sizes{shape[0]} : Sizes{}, .layout = v.gradient});
    aclTensor* logProb =
        call.reads("logProb", {.dtype = dtype, .shape = shape, .layout = v.scores, .low = -12, .high = 0});
    aclTensor* target = call.reads("target", {.dtype = ACL_INT64, .shape = {shape[0]}, .classes = shape[1]});
    aclTensor* weight = v.smoothing ? call.reads("weight", weights(shape[1]))  // then all are added up
                                    : call.picks("weight", weights(shape[1]), "target");
    aclTensor* out = call.writes("out", {.dtype = dtype, .shape = shape});
    call.number("smoothing", v.smoothing);
    call.number("none", v.none);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnCrossEntropyLossGradGetWorkspaceSize(gradLoss, logProb, target, weight, nullptr, nullptr,
                                                           v.none ? kNone : kMean, kIgnored, v.smoothing, 0, out, size,
                                                           executor);
        },
        aclnnCrossEntropyLossGrad);
  });
}

void add_forward(Grid& grid, aclDataType dtype, const Sizes& shape, const Variant& v = {}) {
  grid.add("aclnnCrossEntropyLoss", label(dtype, shape, v.text()), [=](Call& call) {
    aclTensor* input = call.reads("input", {.dtype = dtype, .shape = shape, .layout = v.scores});
    aclTensor* target = call.reads("target", {.dtype = ACL_INT64, .shape = {shape[0]}, .classes = shape[1]});
    aclTensor* weight = call.picks("weight", weights(shape[1]), "target");
    aclTensor* loss = call.writes("loss", {.dtype = dtype, .shape = v.none ? Sizes{shape[0]} : Sizes{}});
    aclTensor* logProb = call.writes("logProb", {.dtype = dtype, .shape = shape});
    aclTensor* zloss = call.ignores("zloss", {.dtype = dtype});
    aclTensor* lse = call.ignores("lse", {.dtype = dtype, .shape = {shape[0]}});
    call.number("none", v.none);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnCrossEntropyLossGetWorkspaceSize(input, target, weight, v.none ? kNone : kMean, kIgnored, 0, 0,
                                                       false, loss, logProb, zloss, lse, size, executor);
        },
        aclnnCrossEntropyLoss);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  const std::vector<Sizes> shapes = grid.quick()
                                        ? std::vector<Sizes>{{2, 8}, {1024, 1000}, {128, 128256}}
                                        : std::vector<Sizes>{{2, 8},       {64, 1000},    {1, 128256},   {65536, 10},
                                                             {1024, 1000}, {4096, 32000}, {1024, 128256}};
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const Sizes& shape : shapes) {
      add_gradient(grid, dtype, shape);
      add_forward(grid, dtype, shape);
    }
    if (grid.quick()) continue;
    const Sizes large{16384, 1000};
    add_gradient(grid, dtype, large, {.scores = Layout::kTransposed});
    add_forward(grid, dtype, large, {.scores = Layout::kTransposed});
    add_gradient(grid, dtype, large, {.none = true, .gradient = Layout::kRepeated});
    add_forward(grid, dtype, large, {.scores = Layout::kRepeated});
    add_forward(grid, dtype, large, {.none = true});
    add_gradient(grid, dtype, large, {.smoothing = 0.1});
  }
  add_gradient(grid, ACL_FLOAT, {1024, 1000}, {.scores = Layout::kTransposed});
});

}  // namespace
}  // namespace descend::bench
