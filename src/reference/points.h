// SPDX-License-Identifier: MIT
// Element access for reference implementations: by logical index, straight from shape and strides.  Shares nothing with
// the loops and kernels that it judges.
#pragma once
#include "src/tensor/tensor.h"

namespace descend {

// What references compute in: double, or better where the machine has it, since it judges DOUBLE results too.
using Real = long double;

using Point = Dims;

// Calls body(point) for every index of the shape, last dimension fastest.
template <class Body> void for_each_point(const Shape& shape, const Body& body) {
  Point at;
  at.assign(shape.size(), 0);
  for (int64_t d : shape)
    if (d == 0) return;
  for (;;) {
    body(static_cast<const Point&>(at));
    size_t k = shape.size();
    while (k > 0 && ++at[k - 1] == shape[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

// The element at a point of a shape that the tensor broadcasts to.
Real value(const aclTensor& t, const Point& at);

// Rounds once, to nearest even, to the dtype `rounded`, and stores that as the tensor's dtype.
void set(const aclTensor& t, const Point& at, Real value, DataType rounded);

// `value` as the nearest number of a floating dtype, ties to even.
Real nearest(Real value, DataType dtype);

}  // namespace descend
