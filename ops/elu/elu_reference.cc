// SPDX-License-Identifier: MIT
// ELU as the pages define it, one element at a time.  Shares nothing with the kernels.
#include <cmath>

#include "ops/elu/elu.h"
#include "src/reference/points.h"

namespace descend {
namespace {

// Scalars count as what they are rounded to: FLOAT, or DOUBLE where the tensor is.
Real number(const aclScalar& s, DataType dtype) {
  return dtype == DataType::kDouble ? Real{as_double(s)} : Real{as_float(s)};
}

void elu(const aclTensor& self, const aclTensor& out, const aclScalar& alpha, const aclScalar& scale,
         const aclScalar& inputScale) {
  const Real a = number(alpha, self.dtype), s = number(scale, self.dtype), i = number(inputScale, self.dtype);
  for_each_point(out.shape, [&](const Point& at) {
    const Real x = value(self, at);
    set(out, at, (x > 0 ? x : a * std::expm1(x * i)) * s, self.dtype);
  });
}

}  // namespace

void Elu::reference(const Params& p) { elu(*p.self, *p.out, *p.alpha, *p.scale, *p.inputScale); }

void InplaceElu::reference(const Params& p) { elu(*p.selfRef, *p.selfRef, *p.alpha, *p.scale, *p.inputScale); }

void EluBackward::reference(const Params& p) {
  const Real alpha = as_float(*p.alpha), scale = as_float(*p.scale), inputScale = as_float(*p.inputScale);
  for_each_point(p.gradInput->shape, [&](const Point& at) {
    const Real gradOutput = value(*p.gradOutput, at), v = value(*p.selfOrResult, at);
    Real slope = scale;
    // exp in double: where it is 0 or infinite is part of what is judged.
    if (v <= 0)
      slope = p.isResult ? inputScale * (v + alpha * scale)
                         : inputScale * alpha * scale * Real{std::exp(static_cast<double>(v * inputScale))};
    set(*p.gradInput, at, gradOutput * slope, p.gradOutput->dtype);
  });
}

}  // namespace descend
