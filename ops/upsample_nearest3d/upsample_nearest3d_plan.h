// SPDX-License-Identifier: MIT
// What the plans of the nearest upsampling and of its gradient have in common.
#pragma once
#include "ops/upsample_nearest3d/upsample_nearest3d.h"
#include "ops/upsample_nearest3d/upsample_nearest3d_kernels.h"

namespace descend {

inline UpsampleView upsample_view(const aclTensor& t, const UpsampleOrder& order) {
  const auto sizes = upsample_dims(t.shape, order), strides = upsample_dims(t.strides, order);
  UpsampleView view;
  for (size_t axis = 0; axis < kUpsampleAxes; ++axis) {
    view.size[axis] = sizes[axis];
    view.stride[axis] = sizes[axis] == 1 ? 1 : strides[axis];
  }
  return view;
}

// The scales count only if all three do.
inline bool upsample_uses_scales(double d, double h, double w) { return d > 0 && h > 0 && w > 0; }

inline float upsample_quotient(int64_t a, int64_t b) { return static_cast<float>(a) / static_cast<float>(b); }

}  // namespace descend
