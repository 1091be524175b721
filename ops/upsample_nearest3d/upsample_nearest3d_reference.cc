// SPDX-License-Identifier: MIT
// The nearest upsampling and its gradient as the contract defines them, one element at a time.  Shares nothing with the
// kernels.
#include <cmath>
#include <cstring>

#include "ops/upsample_nearest3d/upsample_nearest3d.h"
#include "src/reference/points.h"

namespace descend {
namespace {

// A point of a tensor as the indices of N, C, D, H and W, and back.
std::array<int64_t, 5> indices(const UpsampleOrder& order, const Point& at) { return upsample_dims(at, order); }
Point point(const UpsampleOrder& order, const std::array<int64_t, 5>& index) {
  Point at;
  at.assign(5, 0);
  for (size_t axis = 0; axis < 5; ++axis) at[order[axis]] = index[axis];
  return at;
}

std::byte* address(const aclTensor& t, const Point& at) {
  int64_t element = t.offset;
  for (size_t k = 0; k < 5; ++k) element += at[k] * t.strides[k];
  return static_cast<std::byte*>(t.data) + element * static_cast<int64_t>(size_of(t.dtype));
}

// `x` as an index that is at most `limit`.  A factor that is infinite leaves index 0 where it is.
int64_t limited(float x, int64_t limit) {
  if (std::isnan(x)) return 0;
  return x < static_cast<Real>(limit) ? static_cast<int64_t>(x) : limit;
}

}  // namespace

void UpsampleNearest3d::reference(const Params& p) {
  const double scales[] = {p.scalesD, p.scalesH, p.scalesW};
  const bool scaled = p.scalesD > 0 && p.scalesH > 0 && p.scalesW > 0;
  const UpsampleOrder order = upsample_order(*p.self);
  const auto in = upsample_dims(p.self->shape, order), out = upsample_dims(p.out->shape, order);
  for_each_point(p.out->shape, [&](const Point& at) {
    auto index = indices(order, at);
    for (size_t axis = 2; axis < 5; ++axis) {
      const float ratio = scaled ? static_cast<float>(1 / scales[axis - 2])
                                 : static_cast<float>(in[axis]) / static_cast<float>(out[axis]);
      index[axis] = limited(std::floor(static_cast<float>(index[axis]) * ratio), in[axis] - 1);
    }
    std::memcpy(address(*p.out, at), address(*p.self, point(order, index)), size_of(p.out->dtype));
  });
}

void UpsampleNearest3dBackward::reference(const Params& p) {
  const double scales[] = {p.scalesD, p.scalesH, p.scalesW};
  const bool scaled = p.scalesD > 0 && p.scalesH > 0 && p.scalesW > 0;
  const UpsampleOrder order = upsample_order(*p.gradInput), other = upsample_order(*p.gradOut);
  const auto in = upsample_sizes(*p.gradInput), out = upsample_sizes(*p.gradOut);
  for_each_point(p.gradInput->shape, [&](const Point& at) {
    const auto index = indices(order, at);
    int64_t begin[5], end[5];
    for (size_t axis = 2; axis < 5; ++axis) {
      const float scale =
          scaled ? static_cast<float>(scales[axis - 2]) : static_cast<float>(out[axis]) / static_cast<float>(in[axis]);
      begin[axis] = limited(std::ceil(static_cast<float>(index[axis]) * scale), out[axis]);
      end[axis] = limited(std::ceil(static_cast<float>(index[axis] + 1) * scale), out[axis]);
    }
    Real sum = 0;
    for (int64_t d = begin[2]; d < end[2]; ++d)
      for (int64_t h = begin[3]; h < end[3]; ++h)
        for (int64_t w = begin[4]; w < end[4]; ++w)
          sum += value(*p.gradOut, point(other, {index[0], index[1], d, h, w}));
    set(*p.gradInput, at, sum, p.gradInput->dtype);
  });
}

}  // namespace descend
