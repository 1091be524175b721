// SPDX-License-Identifier: MIT
// What is timed of the nearest upsampling: volumes from the smallest to memory's size, in both orders of dimensions, by
// factors that have code of their own and by one that has not.
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "bench/case.h"

namespace descend::bench {
namespace {

// (N, C, D, H, W) with an edge of `edge` elements, in the order of the format.
Sizes shape_of(aclFormat format, int64_t batch, int64_t channels, int64_t edge) {
  if (format == ACL_FORMAT_NDHWC) return {batch, edge, edge, edge, channels};
  return {batch, channels, edge, edge, edge};
}

struct Variant {
  aclFormat format = ACL_FORMAT_NCDHW;
  Layout layout = Layout::kContiguous;  // of the input
  int64_t batch = 1, channels = 32;
  int64_t halves = 4;  // twice the factor
  std::string text() const {
    const std::string factor = halves % 2 ? std::to_string(halves / 2) + ".5x" : std::to_string(halves / 2) + "x";
    return factor + (format == ACL_FORMAT_NDHWC ? ", channels-last" : "") + suffix(layout);
  }
};

// Both directions between a volume of `edge` cubed and the larger one.
void add_both(Grid& grid, aclDataType dtype, int64_t edge, const Variant& v = {}) {
  const int64_t large_edge = edge * v.halves / 2;
  const Sizes small_shape = shape_of(v.format, v.batch, v.channels, edge);
  const Sizes large_shape = shape_of(v.format, v.batch, v.channels, large_edge);
  const auto spec = [&](const Sizes& shape, Layout layout) {
    return TensorSpec{.dtype = dtype, .shape = shape, .layout = layout, .format = v.format};
  };
  const TensorSpec small = spec(small_shape, Layout::kContiguous), large = spec(large_shape, Layout::kContiguous);
  const TensorSpec self_spec = spec(small_shape, v.layout), gradient_spec = spec(large_shape, v.layout);
  const Sizes output_size(3, large_edge);
  grid.add("aclnnUpsampleNearest3dBackward", label(dtype, large_shape, v.text()), [=](Call& call) {
    aclTensor* gradOut = call.reads("gradOut", gradient_spec);
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
  grid.add("aclnnUpsampleNearest3d", label(dtype, large_shape, v.text()), [=](Call& call) {
    aclTensor* self = call.reads("self", self_spec);
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
  const Sizes edges = grid.quick() ? Sizes{64} : Sizes{2, 8, 16, 32, 64};
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE}) {
    add_both(grid, dtype, 2, {.channels = 2});  // 16 elements
    for (const int64_t edge : edges) {
      add_both(grid, dtype, edge);
      if (grid.quick() && (dtype == ACL_DOUBLE || dtype == ACL_FLOAT16)) continue;
      add_both(grid, dtype, edge, {.format = ACL_FORMAT_NDHWC});
      if (dtype == ACL_FLOAT && edge >= 16) add_both(grid, dtype, edge, {.halves = 3});
    }
    if (grid.quick()) continue;
    add_both(grid, dtype, 32, {.halves = 8});
    add_both(grid, dtype, 64, {.layout = Layout::kTransposed});
    add_both(grid, dtype, 64, {.layout = Layout::kRepeated, .batch = 4, .channels = 8});
  }
});

}  // namespace
}  // namespace descend::bench
