// SPDX-License-Identifier: MIT
// What the kernels of the nearest upsampling take.  Seen by phase one and by every backend.
#pragma once
#include <cmath>

#include "src/base/dtype.h"
#include "src/base/host_device.h"
#include "src/device/kernel.h"

namespace descend {

// The axes of a volume, in the order the kernels have them, whatever a tensor's format says.
enum UpsampleAxis { kBatch, kChannel, kDepth, kHeight, kWidth, kUpsampleAxes };

struct UpsampleView {
  int64_t size[kUpsampleAxes];
  int64_t stride[kUpsampleAxes];  // in elements; 1 where the size is 1
};

// "Input" and "output" are those of the upsampling: its gradient reads the output side and writes the input side.
struct UpsampleNearest3dArgs {
  UpsampleView input, output;
  float factor[kUpsampleAxes];  // of depth, height and width
  DataType dtype;
};
// Operands: out, self.  The factors are input sizes over output sizes.
inline constexpr Kernel<UpsampleNearest3dArgs> kUpsampleNearest3d{"upsample_nearest3d"};
// Operands: gradInput, gradOut.  The factors are output sizes over input sizes.
inline constexpr Kernel<UpsampleNearest3dArgs> kUpsampleNearest3dBackward{"upsample_nearest3d_backward"};

// min(x, limit) of a whole number x that may be too large for int64.  0 times infinity, a NaN, is the first index: 0.
DESCEND_HOST_DEVICE inline int64_t upsample_index(float x, int64_t limit) {
  if (!(x > 0)) return 0;
  if (x >= 0x1p63f || static_cast<int64_t>(x) >= limit) return limit;
  return static_cast<int64_t>(x);
}
// The first of `outputs` indices that input index i owns; those it owns end where the next one's begin.
DESCEND_HOST_DEVICE inline int64_t upsample_first_owned(int64_t i, float factor, int64_t outputs) {
  return upsample_index(std::ceil(static_cast<float>(i) * factor), outputs);
}
// The input index that output index o is taken from.
DESCEND_HOST_DEVICE inline int64_t upsample_source(int64_t o, float factor, int64_t inputs) {
  return upsample_index(std::floor(static_cast<float>(o) * factor), inputs - 1);
}

}  // namespace descend
