// SPDX-License-Identifier: MIT
// Shapes and texts of tensors.
#include "src/tensor/tensor.h"

#include <bit>

#include "src/base/text.h"

namespace descend {

std::string describe(const Dims& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += cat(i ? "," : "", dims[i]);
  return s + "]";
}

std::optional<int64_t> count(const Shape& shape) {
  // A zero anywhere makes the product zero, but the other dimensions must still be sizes.
  int64_t n = 1;
  bool overflows = false, empty = false;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0)
      empty = true;
    else
      overflows |= __builtin_mul_overflow(n, d, &n);
  }
  if (empty) return 0;
  if (overflows) return std::nullopt;
  return n;
}

Dims row_major(const Shape& shape) {
  Dims strides;
  strides.assign(shape.size(), 1);
  uint64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(shape[i]);
  }
  return strides;
}

std::string describe(const aclTensor& t) {
  std::string s = cat(name(t.dtype), describe(t.shape));
  if (!(t.strides == row_major(t.shape))) s += cat(" with strides ", describe(t.strides));
  return s;
}

std::string describe(const aclScalar& s) {
  if (is_complex(s.dtype)) return cat(name(s.dtype), " ", s.real, s.imaginary < 0 ? "" : "+", s.imaginary, "i");
  if (s.dtype == DataType::kUint64) return cat(name(s.dtype), " ", static_cast<uint64_t>(s.integer));
  if (is_integral(s.dtype)) return cat(name(s.dtype), " ", s.integer);
  return cat(name(s.dtype), " ", s.real);
}

std::string describe(const aclIntArray& a) { return describe(Dims(a.values.data(), a.values.size())); }

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const int64_t x = longer[lead + i], y = shorter[i];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[lead + i] = x == 1 ? y : x;
  }
  return out;
}

bool alike(const aclTensor& a, const aclTensor& b) {
  return a.dtype == b.dtype && a.format == b.format && a.offset == b.offset && a.shape == b.shape &&
         a.strides == b.strides;
}

bool alike(const aclScalar& a, const aclScalar& b) {
  // By bits: -0 is not 0, and a NaN is itself.
  const auto bits = [](double v) { return std::bit_cast<uint64_t>(v); };
  return a.dtype == b.dtype && bits(a.real) == bits(b.real) && bits(a.imaginary) == bits(b.imaginary) &&
         a.integer == b.integer;
}

bool alike(const aclIntArray& a, const aclIntArray& b) { return a.values == b.values; }

float as_float(const aclScalar& s) {
  // Integers go to float in one rounding, not through double.
  if (s.dtype == DataType::kUint64) return static_cast<float>(static_cast<uint64_t>(s.integer));
  return is_integral(s.dtype) ? static_cast<float>(s.integer) : static_cast<float>(s.real);
}

double as_double(const aclScalar& s) {
  if (s.dtype == DataType::kUint64) return static_cast<double>(static_cast<uint64_t>(s.integer));
  return is_integral(s.dtype) ? static_cast<double>(s.integer) : s.real;
}

}  // namespace descend
