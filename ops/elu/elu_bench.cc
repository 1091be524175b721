// SPDX-License-Identifier: MIT
// What is timed of ELU: small calls, tensors from the cache's size to memory's, and layouts.
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

void add_backward(Grid& grid, aclDataType dtype, const Sizes& shape, bool is_result, Layout in = Layout::kContiguous) {
  const std::string text = label(dtype, shape, (is_result ? "from result" : "from input") + suffix(in));
  grid.add("aclnnEluBackward", text, [=](Call& call) {
    aclTensor* gradOutput = call.reads("gradOutput", {.dtype = dtype, .shape = shape, .layout = in});
    aclTensor* self = call.reads("selfOrResult", {.dtype = dtype, .shape = shape});
    aclTensor* gradInput = call.writes("gradInput", {.dtype = dtype, .shape = shape});
    aclScalar* one = call.scalar("alpha", 1);
    call.number("isResult", is_result);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnEluBackwardGetWorkspaceSize(gradOutput, one, one, one, is_result, self, gradInput, size,
                                                  executor);
        },
        aclnnEluBackward);
  });
}

void add_forward(Grid& grid, aclDataType dtype, const Sizes& shape, Layout in = Layout::kContiguous) {
  grid.add("aclnnElu", label(dtype, shape, in == Layout::kContiguous ? "" : name(in)), [=](Call& call) {
    aclTensor* self = call.reads("self", {.dtype = dtype, .shape = shape, .layout = in});
    aclTensor* out = call.writes("out", {.dtype = dtype, .shape = shape});
    aclScalar* one = call.scalar("alpha", 1);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnEluGetWorkspaceSize(self, one, one, one, out, size, executor);
        },
        aclnnElu);
  });
}

void add_in_place(Grid& grid, aclDataType dtype, const Sizes& shape, Layout in = Layout::kContiguous) {
  grid.add("aclnnInplaceElu", label(dtype, shape, in == Layout::kContiguous ? "" : name(in)), [=](Call& call) {
    aclTensor* self = call.updates("selfRef", {.dtype = dtype, .shape = shape, .layout = in});
    // Applied again and again with alpha 1 negative numbers go to 0, with 2 to -1.59.
    aclScalar* alpha = call.scalar("alpha", 2);
    aclScalar* one = call.scalar("scale", 1);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnInplaceEluGetWorkspaceSize(self, alpha, one, one, size, executor);
        },
        aclnnInplaceElu);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const int64_t n : grid.line_sizes()) {
      add_backward(grid, dtype, {n}, false);
      if (!grid.quick()) add_backward(grid, dtype, {n}, true);
      add_forward(grid, dtype, {n});
      if (!grid.quick() || n == 1 << 24) add_in_place(grid, dtype, {n});
    }
    if (grid.quick() && dtype == ACL_FLOAT16) continue;
    for (const auto& [shape, layout] : grid.views()) {
      add_backward(grid, dtype, shape, false, layout);
      if (grid.quick()) continue;
      add_forward(grid, dtype, shape, layout);
      if (layout != Layout::kRepeated) add_in_place(grid, dtype, shape, layout);  // no output may be broadcast
    }
  }
  if (!grid.quick()) add_forward(grid, ACL_DOUBLE, {1 << 24});
});

}  // namespace
}  // namespace descend::bench
