// SPDX-License-Identifier: MIT
// The plain helpers: sizes of element types, half precision, log lines, data buffers.
#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/runtime/support.h"

namespace descend::test {
namespace {

TEST(RuntimeHelpers, sizes_of_element_types) {
  const auto size = [](int type) { return aclDataTypeSize(static_cast<aclDataType>(type)); };
  for (const int type : {ACL_DT_UNDEFINED, ACL_STRING}) EXPECT_EQ(size(type), 0u) << type;
  for (const int type : {ACL_INT8, ACL_UINT8, ACL_BOOL, ACL_INT4, ACL_UINT1, ACL_HIFLOAT8, ACL_FLOAT8_E5M2,
                         ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E8M0})
    EXPECT_EQ(size(type), 1u) << type;
  for (const int type : {ACL_FLOAT16, ACL_BF16, ACL_INT16, ACL_UINT16}) EXPECT_EQ(size(type), 2u) << type;
  for (const int type : {ACL_FLOAT, ACL_INT32, ACL_UINT32, ACL_COMPLEX32}) EXPECT_EQ(size(type), 4u) << type;
  for (const int type : {ACL_DOUBLE, ACL_INT64, ACL_UINT64, ACL_COMPLEX64}) EXPECT_EQ(size(type), 8u) << type;
  EXPECT_EQ(size(ACL_COMPLEX128), 16u);
  for (const int type :
       {int{ACL_FLOAT6_E3M2}, int{ACL_FLOAT6_E2M3}, int{ACL_FLOAT4_E2M1}, int{ACL_FLOAT4_E1M2}, 5, 14, 99, -2})
    EXPECT_EQ(size(type), 8u) << type;
}

TEST(RuntimeHelpers, half_precision_rounds_to_nearest_even_and_saturates) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(aclFloatToFloat16(0.0f), 0x0000);
  EXPECT_EQ(aclFloatToFloat16(-0.0f), 0x8000);
  EXPECT_EQ(aclFloatToFloat16(1.0f), 0x3C00);
  EXPECT_EQ(aclFloatToFloat16(-2.0f), 0xC000);
  EXPECT_EQ(aclFloatToFloat16(1.0f + 0x1p-11f), 0x3C00) << "half way: to even";
  EXPECT_EQ(aclFloatToFloat16(1.0f + 3 * 0x1p-11f), 0x3C02) << "half way: to even";
  EXPECT_EQ(aclFloatToFloat16(0x1p-24f), 0x0001) << "the smallest subnormal";
  EXPECT_EQ(aclFloatToFloat16(0x1p-25f), 0x0000);
  EXPECT_EQ(aclFloatToFloat16(-0x1.8p-25f), 0x8001);
  EXPECT_EQ(aclFloatToFloat16(65504.0f), 0x7BFF);
  for (const float large : {65519.0f, 65520.0f, 65536.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(aclFloatToFloat16(large), 0x7BFF) << large;
    EXPECT_EQ(aclFloatToFloat16(-large), 0xFBFF) << -large;
  }
  EXPECT_EQ(aclFloatToFloat16(kNaN), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(std::copysign(kNaN, -1.0f)), 0xFBFF);
}

TEST(RuntimeHelpers, from_half_precision_the_largest_exponent_is_an_ordinary_one) {
  EXPECT_EQ(aclFloat16ToFloat(0x3C00), 1.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(aclFloat16ToFloat(0x03FF), 0x1.ff8p-15f);
  EXPECT_TRUE(std::signbit(aclFloat16ToFloat(0x8000)));
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0xFC00), -65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x7FFF), 131008.0f);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    if ((half & 0x7C00) == 0x7C00) continue;
    ASSERT_EQ(aclFloatToFloat16(aclFloat16ToFloat(half)), half);
  }
}

TEST(RuntimeHelpers, log_lines_are_formatted_cut_and_never_crash) {
  testing::internal::CaptureStderr();
  ACL_APP_LOG(ACL_ERROR, "seven is %d", 7);
  aclAppLog(ACL_ERROR, "f", "file.c", 3, "%s", std::string(5000, 'x').c_str());
  aclAppLog(ACL_ERROR, nullptr, nullptr, 0, "no names");
  aclAppLog(ACL_ERROR, "f", "file.c", 1, nullptr);
  aclAppLog(static_cast<aclLogLevel>(9), "f", "file.c", 1, "not a level");
  aclAppLog(ACL_DEBUG, "f", "file.c", 1, "below the level");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("seven is 7"), std::string::npos) << text;
  EXPECT_NE(text.find("helpers_test.cc:"), std::string::npos) << text;
  EXPECT_NE(text.find("f file.c:3: xxx"), std::string::npos);
  EXPECT_EQ(text.find(std::string(1024, 'x')), std::string::npos) << "cut at 1024 bytes";
  EXPECT_NE(text.find(std::string(1000, 'x')), std::string::npos);
  EXPECT_NE(text.find("no names"), std::string::npos);
  EXPECT_EQ(text.find("not a level"), std::string::npos);
  EXPECT_EQ(text.find("below the level"), std::string::npos);
}

TEST(RuntimeHelpers, a_data_buffer_is_an_address_and_a_size) {
  char memory[8];
  aclDataBuffer* buffer = aclCreateDataBuffer(memory, size_t{5} << 32 | 8);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), memory);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), size_t{5} << 32 | 8);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 8u);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, memory + 1, 7), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), memory + 1);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 7u);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  expect_failure(aclDestroyDataBuffer(buffer), ACL_ERROR_INVALID_PARAM, {"aclDestroyDataBuffer", "dataBuffer"});
  expect_failure(aclUpdateDataBuffer(buffer, memory, 8), ACL_ERROR_INVALID_PARAM, {"dataBuffer"});
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 0u);
  aclDataBuffer* empty = aclCreateDataBuffer(nullptr, 0);
  ASSERT_NE(empty, nullptr) << "nothing is a fine address of no bytes";
  EXPECT_EQ(aclDestroyDataBuffer(empty), ACL_SUCCESS);
  expect_failure(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM, {"dataBuffer"});
  expect_failure(aclUpdateDataBuffer(nullptr, memory, 8), ACL_ERROR_INVALID_PARAM, {"dataBuffer"});
  EXPECT_EQ(aclGetDataBufferAddr(nullptr), nullptr);
  EXPECT_EQ(aclGetDataBufferSize(nullptr), 0u);
}

}  // namespace
}  // namespace descend::test
