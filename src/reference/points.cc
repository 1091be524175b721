// SPDX-License-Identifier: MIT
#include "src/reference/points.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace descend {
namespace {

std::byte* address(const aclTensor& t, const Point& at) {
  const size_t lead = at.size() - t.shape.size();
  int64_t element = t.offset;
  for (size_t k = 0; k < t.shape.size(); ++k) element += (t.shape[k] == 1 ? 0 : at[lead + k]) * t.strides[k];
  return static_cast<std::byte*>(t.data) + element * static_cast<int64_t>(size_of(t.dtype));
}

template <class T> Real widen(T v) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
    return static_cast<float>(v);
  else
    return static_cast<Real>(v);
}

template <class T> T narrow(Real v) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
    return T::from(static_cast<float>(v));
  else if constexpr (std::is_same_v<T, complex32>)
    return {float16::from(static_cast<float>(v)), float16{0}};
  else if constexpr (std::is_same_v<T, complex64>)
    return {static_cast<float>(v), 0.0f};
  else if constexpr (std::is_same_v<T, complex128>)
    return {static_cast<double>(v), 0.0};
  else
    return static_cast<T>(v);
}

// Precision in bits, exponent of the smallest subnormal, exponent of the first power of two that is too large.
struct FloatFormat {
  int precision, smallest, too_large;
};

Real nearest(Real v, FloatFormat f) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  std::frexp(v, &exponent);
  const int unit = std::max(exponent - f.precision, f.smallest);  // of the last place
  const Real rounded = std::ldexp(std::nearbyint(std::ldexp(v, -unit)), unit);
  if (std::fabs(rounded) < std::ldexp(Real{1}, f.too_large)) return rounded;
  return std::copysign(std::numeric_limits<Real>::infinity(), v);
}

}  // namespace

Real value(const aclTensor& t, const Point& at) {
  Real v = 0;
  visit(Reals{}, t.dtype, [&]<class T> {
    T element;
    std::memcpy(&element, address(t, at), sizeof element);
    v = widen(element);
  });
  return v;
}

Real nearest(Real v, DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return nearest(v, FloatFormat{11, -24, 16});
    case DataType::kBfloat16:
      return nearest(v, FloatFormat{8, -133, 128});
    case DataType::kFloat:
      return nearest(v, FloatFormat{24, -149, 128});
    default:
      return nearest(v, FloatFormat{53, -1074, 1024});
  }
}

void set(const aclTensor& t, const Point& at, Real v, DataType rounded) {
  // The output's own rounding comes second; from a narrower dtype it changes nothing.
  const DataType part = t.dtype == DataType::kComplex32   ? DataType::kFloat16
                        : t.dtype == DataType::kComplex64 ? DataType::kFloat
                        : is_complex(t.dtype)             ? DataType::kDouble
                                                          : t.dtype;
  const Real stored = nearest(nearest(v, rounded), part);
  const auto store = [&]<class T> {
    const T element = narrow<T>(stored);
    std::memcpy(address(t, at), &element, sizeof element);
  };
  visit(Dtypes<float, float16, bfloat16, double, complex32, complex64, complex128>{}, t.dtype, store);
}

}  // namespace descend
