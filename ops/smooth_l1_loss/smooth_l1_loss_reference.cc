// SPDX-License-Identifier: MIT
// The smooth L1 loss as the pages define it, one element at a time.  Shares nothing with the kernels.
#include <cmath>

#include "ops/smooth_l1_loss/smooth_l1_loss.h"
#include "src/reference/points.h"

namespace descend {

void SmoothL1Loss::reference(const Params& p) {
  const Real beta = p.beta;
  const Shape shape = *broadcast(p.self->shape, p.target->shape);
  const DataType dtype = *promote(p.self->dtype, p.target->dtype);
  Real sum = 0, elements = 0;
  for_each_point(shape, [&](const Point& at) {
    const Real x = value(*p.self, at) - value(*p.target, at), distance = std::fabs(x);
    const Real loss = distance < beta ? x * x / (2 * beta) : distance - beta / 2;
    if (p.reduction == kSmoothL1None) return set(*p.result, at, loss, dtype);
    sum += loss;
    elements += 1;
  });
  if (p.reduction == kSmoothL1None) return;
  Point only;
  only.assign(p.result->shape.size(), 0);
  set(*p.result, only, p.reduction == kSmoothL1Mean ? sum / elements : sum, dtype);
}

void SmoothL1LossBackward::reference(const Params& p) {
  const Real beta = p.beta;
  const Shape loss = *broadcast(p.self->shape, p.target->shape);
  const DataType dtype = *promote(*promote(p.gradOut->dtype, p.self->dtype), p.target->dtype);
  Real elements = 1;
  if (p.reduction == kSmoothL1Mean)
    for (int64_t d : loss) elements *= static_cast<Real>(d);
  for_each_point(p.gradInput->shape, [&](const Point& at) {
    const Real x = value(*p.self, at) - value(*p.target, at);
    const Real sign = x > 0 ? 1 : x < 0 ? -1 : x;  // 0 and NaN are their own
    const Real slope = std::fabs(x) < beta ? x / beta : sign;
    set(*p.gradInput, at, value(*p.gradOut, at) * slope / elements, dtype);
  });
}

}  // namespace descend
