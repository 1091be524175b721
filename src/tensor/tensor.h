// SPDX-License-Identifier: MIT
// The values behind the opaque handles of the C API, and what can be asked of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/dtype.h"
#include "src/tensor/dims.h"

namespace descend {

// The numbers are aclFormat's; only the two that an operator asks about have names here.
enum class Format : int32_t { kNd = 2, kNdhwc = 27, kNcdhw = 30 };

}  // namespace descend

// Element i of the view is at data + (offset + sum of i_k * strides[k]) * size_of(dtype).
struct aclTensor {
  descend::DataType dtype = descend::DataType::kUndefined;
  descend::Format format = descend::Format::kNd;
  descend::Dims shape;
  descend::Dims strides;  // in elements; zero and negative ones are legal
  descend::Dims storage;  // recorded and returned, never trusted
  int64_t offset = 0;     // in elements
  void* data = nullptr;
};

// A number of any dtype: integers (uint64 as its bits) in `integer`, every other kind in `real` and `imaginary`.
struct aclScalar {
  descend::DataType dtype = descend::DataType::kUndefined;
  double real = 0;
  double imaginary = 0;
  int64_t integer = 0;
};

struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<uint8_t> values;
};
struct aclTensorList {
  std::vector<const aclTensor*> tensors;  // owned
};
struct aclScalarList {
  std::vector<const aclScalar*> scalars;  // owned
};

namespace descend {

// Elements of the view; empty when the product overflows int64 or a dimension is negative.
std::optional<int64_t> count(const Shape& shape);

// For tensors whose count is known to exist (phase one has checked it).
inline int64_t size_of(const aclTensor& t) {
  uint64_t n = 1;  // an empty view may have dimensions whose product is no size
  for (int64_t d : t.shape) n *= static_cast<uint64_t>(d);
  return static_cast<int64_t>(n);
}

// Row-major strides of a shape.  Products that overflow wrap: such a shape has no count.
Dims row_major(const Shape& shape);

std::string describe(const aclTensor& t);  // "FLOAT[2,3]", with strides where they are not row-major
std::string describe(const aclScalar& s);
std::string describe(const aclIntArray& a);

// The value of a real scalar, rounded once to the type.
float as_float(const aclScalar& s);
double as_double(const aclScalar& s);

// Whether two tensors differ in their addresses at most, two scalars or arrays not at all.
bool alike(const aclTensor& a, const aclTensor& b);
bool alike(const aclScalar& a, const aclScalar& b);
bool alike(const aclIntArray& a, const aclIntArray& b);

// The common shape of two shapes aligned at their last dimension; empty when there is none.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace descend
