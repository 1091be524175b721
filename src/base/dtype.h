// SPDX-License-Identifier: MIT
// Element types: the run-time tag (DataType), the C++ type behind it, and `visit`, the one way from the first to the
// second.
#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "src/base/bfloat16.h"
#include "src/base/float16.h"

namespace descend {

// The numbers are aclDataType's.
enum class DataType : int32_t {
  kUndefined = -1,
  kFloat = 0,
  kFloat16 = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 6,
  kUint16 = 7,
  kUint32 = 8,
  kInt64 = 9,
  kUint64 = 10,
  kDouble = 11,
  kBool = 12,
  kString = 13,
  kComplex64 = 16,
  kComplex128 = 17,
  kBfloat16 = 27,
  kInt4 = 29,
  kUint1 = 30,
  kComplex32 = 33,
  kHifloat8 = 34,
  kFloat8E5m2 = 35,
  kFloat8E4m3fn = 36,
  kFloat8E8m0 = 37,
  kFloat6E3m2 = 38,
  kFloat6E2m3 = 39,
  kFloat4E2m1 = 40,
  kFloat4E1m2 = 41,
};

constexpr bool is_half(DataType t) { return t == DataType::kFloat16 || t == DataType::kBfloat16; }

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;
struct complex32 {
  float16 real, imaginary;
};

template <class T> struct DtypeOf;
template <DataType tag> using Tag = std::integral_constant<DataType, tag>;
template <> struct DtypeOf<float> : Tag<DataType::kFloat> {};
template <> struct DtypeOf<float16> : Tag<DataType::kFloat16> {};
template <> struct DtypeOf<bfloat16> : Tag<DataType::kBfloat16> {};
template <> struct DtypeOf<double> : Tag<DataType::kDouble> {};
template <> struct DtypeOf<int8_t> : Tag<DataType::kInt8> {};
template <> struct DtypeOf<int16_t> : Tag<DataType::kInt16> {};
template <> struct DtypeOf<int32_t> : Tag<DataType::kInt32> {};
template <> struct DtypeOf<int64_t> : Tag<DataType::kInt64> {};
template <> struct DtypeOf<uint8_t> : Tag<DataType::kUint8> {};
template <> struct DtypeOf<uint16_t> : Tag<DataType::kUint16> {};
template <> struct DtypeOf<uint32_t> : Tag<DataType::kUint32> {};
template <> struct DtypeOf<uint64_t> : Tag<DataType::kUint64> {};
template <> struct DtypeOf<bool> : Tag<DataType::kBool> {};
template <> struct DtypeOf<complex32> : Tag<DataType::kComplex32> {};
template <> struct DtypeOf<complex64> : Tag<DataType::kComplex64> {};
template <> struct DtypeOf<complex128> : Tag<DataType::kComplex128> {};
template <class T> inline constexpr DataType dtype_of = DtypeOf<T>::value;

// A set of element types.  The same set states what an operator accepts and drives `visit`, so the documentation, the
// check and the instantiated kernels cannot drift apart.
template <class... Ts> struct Dtypes {
  static constexpr bool contains(DataType t) { return ((t == dtype_of<Ts>) || ...); }
};

using Reals = Dtypes<float, float16, bfloat16, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                     uint64_t, bool>;
using Complexes = Dtypes<complex32, complex64, complex128>;

// Calls body.operator()<T>() for the T in the set whose tag is `t`.  False when `t` is not in the set.
template <class... Ts, class Body> constexpr bool visit(Dtypes<Ts...>, DataType t, Body&& body) {
  return ((t == dtype_of<Ts> && (body.template operator()<Ts>(), true)) || ...);
}

// "FLOAT16", as the API spells it; "dtype 77" for a number it does not know.
std::string name(DataType t);
template <class... Ts> std::string names(Dtypes<Ts...>) {
  std::string s;
  ((s += (s.empty() ? "" : ", "), s += name(dtype_of<Ts>)), ...);
  return s;
}

namespace detail {
// By number, for every dtype that a C++ type here stands for.
inline constexpr auto kItemSizes = [] {
  std::array<uint8_t, 64> sizes{};
  for (int32_t t = 0; t < static_cast<int32_t>(sizes.size()); ++t) {
    const auto take = [&]<class T> { sizes[static_cast<size_t>(t)] = sizeof(T); };
    visit(Reals{}, DataType{t}, take) || visit(Complexes{}, DataType{t}, take);
  }
  return sizes;
}();
}  // namespace detail

// Bytes of one element; 0 for a dtype that no C++ type here stands for.
constexpr size_t size_of(DataType t) {
  const auto number = static_cast<uint32_t>(t);
  return number < detail::kItemSizes.size() ? detail::kItemSizes[number] : 0;
}

constexpr bool is_complex(DataType t) { return Complexes::contains(t); }
constexpr bool is_floating(DataType t) { return Dtypes<float, float16, bfloat16, double>::contains(t); }
constexpr bool is_integral(DataType t) { return Reals::contains(t) && !is_floating(t) && t != DataType::kBool; }

}  // namespace descend
