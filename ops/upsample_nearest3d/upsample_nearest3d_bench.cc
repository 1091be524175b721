// SPDX-License-Identifier: MIT
// What is timed of the nearest upsampling: volumes from the smallest to memory's size, in both orders of dimensions, by
// factors that have code of their own and by one that has not.
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

constexpr int64_t kChannels = 32;

// (N, C, D, H, W) with an edge of `edge` elements, in the order of the format.
Sizes shape_of(aclFormat format, int64_t edge) {
  if (format == ACL_FORMAT_NDHWC) return {1, edge, edge, edge, kChannels};
  return {1, kChannels, edge, edge, edge};
}

// Both directions between a volume of `edge` cubed and one that is larger by the factor `halves` / 2.
void add_both(Grid& grid, aclDataType dtype, aclFormat format, int64_t edge, int64_t halves) {
  const Sizes small_shape = shape_of(format, edge), large_shape = shape_of(format, edge * halves / 2);
  const TensorSpec small{.dtype = dtype, .shape = small_shape, .format = format};
  const TensorSpec large{.dtype = dtype, .shape = large_shape, .format = format};
  const Sizes output_size(3, edge * halves / 2);
  const std::string more = std::string(format == ACL_FORMAT_NDHWC ? "channels-last " : "") + (halves == 4   ? "2x"
                                                                                              : halves == 3 ? "1.5x"
                                                                                                            : "4x");
  grid.add("aclnnUpsampleNearest3dBackward", label(dtype, large_shape, more), [=](Call& call) {
    aclTensor* gradOut = call.reads("gradOut", large);
    aclTensor* gradInput = call.writes("gradInput", small);
    aclIntArray* outputSize = call.ints("outputSize", output_size);
    aclIntArray* inputSize = call.ints("inputSize", small_shape);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnUpsampleNearest3dBackwardGetWorkspaceSize(gradOut, outputSize, inputSize, 0, 0, 0, gradInput,
                                                                size, executor);
        },
        aclnnUpsampleNearest3dBackward);
  });
  grid.add("aclnnUpsampleNearest3d", label(dtype, large_shape, more), [=](Call& call) {
    aclTensor* self = call.reads("self", small);
    aclTensor* out = call.writes("out", large);
    aclIntArray* outputSize = call.ints("outputSize", output_size);
    call.runs(
        [=](uint64_t* size, aclOpExecutor** executor) {
          return aclnnUpsampleNearest3dGetWorkspaceSize(self, outputSize, 0, 0, 0, out, size, executor);
        },
        aclnnUpsampleNearest3d);
  });
}

[[maybe_unused]] const bool added = add_cases([](Grid& grid) {
  const Sizes edges = grid.quick() ? Sizes{2, 64} : Sizes{2, 8, 16, 32, 64};
  for (const int64_t edge : edges) {
    for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE}) {
      if (grid.quick() && dtype == ACL_FLOAT16) continue;
      add_both(grid, dtype, ACL_FORMAT_NCDHW, edge, 4);
    }
    add_both(grid, ACL_FLOAT, ACL_FORMAT_NDHWC, edge, 4);
    add_both(grid, ACL_BF16, ACL_FORMAT_NDHWC, edge, 4);
    if (edge >= 16) add_both(grid, ACL_FLOAT, ACL_FORMAT_NCDHW, edge, 3);
  }
});

}  // namespace
}  // namespace descend::bench
