// SPDX-License-Identifier: MIT
#include "src/base/dtype.h"

#include "src/base/text.h"

namespace descend {

std::string name(DataType t) {
  switch (t) {
    case DataType::kUndefined:
      return "DT_UNDEFINED";
    case DataType::kFloat:
      return "FLOAT";
    case DataType::kFloat16:
      return "FLOAT16";
    case DataType::kInt8:
      return "INT8";
    case DataType::kInt32:
      return "INT32";
    case DataType::kUint8:
      return "UINT8";
    case DataType::kInt16:
      return "INT16";
    case DataType::kUint16:
      return "UINT16";
    case DataType::kUint32:
      return "UINT32";
    case DataType::kInt64:
      return "INT64";
    case DataType::kUint64:
      return "UINT64";
    case DataType::kDouble:
      return "DOUBLE";
    case DataType::kBool:
      return "BOOL";
    case DataType::kString:
      return "STRING";
    case DataType::kComplex64:
      return "COMPLEX64";
    case DataType::kComplex128:
      return "COMPLEX128";
    case DataType::kBfloat16:
      return "BF16";
    case DataType::kInt4:
      return "INT4";
    case DataType::kUint1:
      return "UINT1";
    case DataType::kComplex32:
      return "COMPLEX32";
    case DataType::kHifloat8:
      return "HIFLOAT8";
    case DataType::kFloat8E5m2:
      return "FLOAT8_E5M2";
    case DataType::kFloat8E4m3fn:
      return "FLOAT8_E4M3FN";
    case DataType::kFloat8E8m0:
      return "FLOAT8_E8M0";
    case DataType::kFloat6E3m2:
      return "FLOAT6_E3M2";
    case DataType::kFloat6E2m3:
      return "FLOAT6_E2M3";
    case DataType::kFloat4E2m1:
      return "FLOAT4_E2M1";
    case DataType::kFloat4E1m2:
      return "FLOAT4_E1M2";
  }
  return cat("dtype ", static_cast<int32_t>(t));
}

}  // namespace descend
