// SPDX-License-Identifier: MIT
// What is timed of ELU: small calls, tensors from the cache's size to memory's, and layouts.
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

void add_backward(Grid& grid, aclDataType dtype, const Sizes& shape, bool is_result, Layout in = Layout::kContiguous,
                  const std::string& more = "") {
  const std::string text = label(dtype, shape, (is_result ? "from result" : "from input") + more);
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

void add_forward(Grid& grid, aclDataType dtype, const Sizes& shape) {
  grid.add("aclnnElu", label(dtype, shape), [=](Call& call) {
    aclTensor* self = call.reads("self", {.dtype = dtype, .shape = shape});
    aclTensor* out = call.writes("out", {.dtype = dtype, .shape = shape});
    aclScalar* one = call.scalar("alpha", 1);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnEluGetWorkspaceSize(self, one, one, one, out, size, executor);
        },
        aclnnElu);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16})
    for (const int64_t n : grid.line_sizes()) {
      add_backward(grid, dtype, {n}, false);
      if (!grid.quick()) add_backward(grid, dtype, {n}, true);
      add_forward(grid, dtype, {n});
    }
  add_forward(grid, ACL_DOUBLE, {1 << 24});
  add_backward(grid, ACL_FLOAT, {4096, 4096}, false, Layout::kTransposed, ", transposed");
  add_backward(grid, ACL_BF16, {4096, 4096}, false, Layout::kTransposed, ", transposed");
  add_backward(grid, ACL_FLOAT, {64, 1 << 18}, false, Layout::kRepeated, ", broadcast");
});

}  // namespace
}  // namespace descend::bench
