// SPDX-License-Identifier: MIT
#include "src/tensor/promote.h"

namespace descend {
namespace {

bool known(DataType t) { return size_of(t) != 0; }
bool is_lone_unsigned(DataType t) { return Dtypes<uint16_t, uint32_t, uint64_t>::contains(t); }

// What a complex dtype consists of, and the complex dtype that consists of a real one.
DataType part_of(DataType t) {
  if (t == DataType::kComplex32) return DataType::kFloat16;
  if (t == DataType::kComplex64) return DataType::kFloat;
  return t == DataType::kComplex128 ? DataType::kDouble : t;
}
DataType complex_of(DataType part) {
  if (part == DataType::kDouble) return DataType::kComplex128;
  return part == DataType::kFloat ? DataType::kComplex64 : DataType::kComplex32;
}

DataType promote_floating(DataType a, DataType b) {
  // FLOAT16 with BF16 is FLOAT too: neither holds the other.
  return a == DataType::kDouble || b == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

DataType promote_integral(DataType a, DataType b) {
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return DataType::kInt16;  // INT8 with UINT8, the only two of one size
}

}  // namespace

bool converts(DataType from, DataType to) {
  if (!known(from) || !known(to)) return false;
  if (is_complex(from) && !is_complex(to)) return false;
  if ((is_floating(from) || is_complex(from)) && is_integral(to)) return false;
  return to != DataType::kBool || from == DataType::kBool;
}

std::optional<DataType> promote(DataType a, DataType b) {
  if (!known(a) || !known(b)) return std::nullopt;
  if (a == b) return a;
  if (is_lone_unsigned(a) || is_lone_unsigned(b)) return std::nullopt;
  if (is_complex(a) || is_complex(b)) {
    const auto parts = promote(part_of(a), part_of(b));
    return parts ? std::optional(complex_of(*parts)) : std::nullopt;
  }
  if (a == DataType::kBool) return b;
  if (b == DataType::kBool) return a;
  if (is_floating(a) && is_floating(b)) return promote_floating(a, b);
  if (is_floating(a)) return a;  // a half kind, too, stays what it is with integers
  if (is_floating(b)) return b;
  return promote_integral(a, b);
}

}  // namespace descend
