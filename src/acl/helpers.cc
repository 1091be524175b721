// SPDX-License-Identifier: MIT
// acl_base.h: sizes of element types, half precision, the program's own log lines.
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "acl/acl_base.h"
#include "src/base/float16.h"
#include "src/base/log.h"
#include "src/base/text.h"

using namespace descend;

extern "C" {

size_t aclDataTypeSize(aclDataType dataType) {
  switch (static_cast<int>(dataType)) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_INT4:
    case ACL_UINT1:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 8;  // the 64-bit types, and what the API says of every number it does not list
  }
}

aclFloat16 aclFloatToFloat16(float value) {
  constexpr uint16_t kLargest = 0x7BFF, kMagnitude = 0x7FFF;
  const uint16_t bits = float16::from(value).bits;
  if ((bits & kMagnitude) <= kLargest) return bits;
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16 & 0x8000) | kLargest);
}

float aclFloat16ToFloat(aclFloat16 value) {
  constexpr int kExponent = 0x7C00, kSignificand = 0x03FF;
  if ((value & kExponent) != kExponent) return static_cast<float>(float16{value});
  const float magnitude = static_cast<float>(0x400 + (value & kSignificand)) * 64;  // 2^16 / 2^10
  return value & 0x8000 ? -magnitude : magnitude;
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) {
  const int level = static_cast<int>(logLevel);
  if (level < ACL_DEBUG || level > ACL_ERROR || fmt == nullptr) return;
  if (!log_enabled(static_cast<LogLevel>(level))) return;
  char text[1024];
  const int prefix = std::snprintf(text, sizeof text, "%s %s:%u: ", func ? func : "?", file ? file : "?", line);
  if (prefix < 0) return;
  if (static_cast<size_t>(prefix) < sizeof text) {
    va_list arguments;
    va_start(arguments, fmt);
    std::vsnprintf(text + prefix, sizeof text - static_cast<size_t>(prefix), fmt, arguments);
    va_end(arguments);
  }
  log(static_cast<LogLevel>(level), text);
}

}  // extern "C"
