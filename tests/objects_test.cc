// SPDX-License-Identifier: MIT
// Tensors, scalars, arrays and lists through the C API.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "aclnn/aclnn_base.h"
#include "src/plan/objects.h"
#include "tests/harness/call.h"

namespace descend::test {
namespace {

std::vector<int64_t> taken(int64_t* values, uint64_t n) {
  const std::unique_ptr<int64_t[]> owned(values);
  return {values, values + n};
}

struct Description {
  std::vector<int64_t> shape, strides, storage;
  int64_t offset;
  aclFormat format;
  aclDataType dtype;
  void* data;
};
Description describe(const aclTensor* t) {
  Description d{};
  int64_t* values = nullptr;
  uint64_t n = 0;
  EXPECT_EQ(aclGetViewShape(t, &values, &n), 0);
  d.shape = taken(values, n);
  EXPECT_EQ(aclGetViewStrides(t, &values, &n), 0);
  d.strides = taken(values, n);
  EXPECT_EQ(aclGetStorageShape(t, &values, &n), 0);
  d.storage = taken(values, n);
  EXPECT_EQ(aclGetViewOffset(t, &d.offset), 0);
  EXPECT_EQ(aclGetFormat(t, &d.format), 0);
  EXPECT_EQ(aclGetDataType(t, &d.dtype), 0);
  EXPECT_EQ(aclGetRawTensorAddr(t, &d.data), 0);
  return d;
}

using Sizes = std::vector<int64_t>;

TEST(Objects, tensor_gives_back_what_it_was_made_of) {
  const int64_t shape[] = {2, 3}, strides[] = {1, -2}, storage[] = {40};
  int memory;
  aclTensor* t = aclCreateTensor(shape, 2, ACL_BF16, strides, 7, ACL_FORMAT_NCHW, storage, 1, &memory);
  const Description d = describe(t);
  EXPECT_EQ(d.shape, (Sizes{2, 3}));
  EXPECT_EQ(d.strides, (Sizes{1, -2}));
  EXPECT_EQ(d.storage, (Sizes{40}));
  EXPECT_EQ(d.offset, 7);
  EXPECT_EQ(d.format, ACL_FORMAT_NCHW);
  EXPECT_EQ(d.dtype, ACL_BF16);
  EXPECT_EQ(d.data, &memory);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST(Objects, null_strides_are_row_major_and_null_dims_are_rank_0_only) {
  const int64_t shape[] = {2, 3, 4};
  aclTensor* t = aclCreateTensor(shape, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  EXPECT_EQ(describe(t).strides, (Sizes{12, 4, 1}));
  EXPECT_EQ(aclDestroyTensor(t), 0);
  t = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(describe(t).shape, Sizes{});
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr), nullptr);
  EXPECT_NE(recent_error().find("aclCreateTensor: viewDims must satisfy: is not null"), std::string::npos);
}

TEST(Objects, tensor_of_any_rank_can_be_made) {
  const Sizes shape(20, 1);
  aclTensor* t = aclCreateTensor(shape.data(), 20, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape.data(), 20, nullptr);
  EXPECT_EQ(describe(t).shape, shape);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST(Objects, init_tensor_leaves_what_it_is_not_given) {
  const int64_t shape[] = {2, 3}, strides[] = {30, 10}, storage[] = {60}, other[] = {5};
  int memory, elsewhere;
  aclTensor* t = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 1, ACL_FORMAT_ND, storage, 1, &memory);
  ASSERT_EQ(aclInitTensor(t, nullptr, 0, ACL_FLOAT16, nullptr, 2, ACL_FORMAT_NCHW, nullptr, 0, nullptr), 0);
  Description d = describe(t);
  EXPECT_EQ(d.shape, (Sizes{2, 3}));
  EXPECT_EQ(d.strides, (Sizes{30, 10}));
  EXPECT_EQ(d.storage, (Sizes{60}));
  EXPECT_EQ(d.data, &memory);
  EXPECT_EQ(d.dtype, ACL_FLOAT16);
  EXPECT_EQ(d.offset, 2);
  ASSERT_EQ(aclInitTensor(t, other, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, other, 1, &elsewhere), 0);
  d = describe(t);
  EXPECT_EQ(d.shape, (Sizes{5}));
  EXPECT_EQ(d.strides, (Sizes{1}));
  EXPECT_EQ(d.data, &elsewhere);
  EXPECT_EQ(aclSetRawTensorAddr(t, nullptr), 0);
  EXPECT_EQ(describe(t).data, nullptr);
  EXPECT_EQ(aclInitTensor(nullptr, other, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, other, 1, nullptr), 161001);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST(Objects, null_arguments_of_getters_are_161001) {
  aclTensor* t = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  int64_t* values;
  uint64_t n;
  int64_t offset;
  void* address;
  EXPECT_EQ(aclGetViewShape(nullptr, &values, &n), 161001);
  EXPECT_EQ(aclGetViewShape(t, nullptr, &n), 161001);
  EXPECT_EQ(aclGetViewShape(t, &values, nullptr), 161001);
  EXPECT_EQ(aclGetStorageShape(t, nullptr, &n), 161001);
  EXPECT_EQ(aclGetViewStrides(t, &values, nullptr), 161001);
  EXPECT_EQ(aclGetViewOffset(nullptr, &offset), 161001);
  EXPECT_EQ(aclGetViewOffset(t, nullptr), 161001);
  EXPECT_EQ(aclGetFormat(t, nullptr), 161001);
  EXPECT_EQ(aclGetDataType(t, nullptr), 161001);
  EXPECT_EQ(aclGetRawTensorAddr(nullptr, &address), 161001);
  EXPECT_EQ(aclGetRawTensorAddr(t, nullptr), 161001);
  EXPECT_EQ(aclSetRawTensorAddr(nullptr, nullptr), 161001);
  EXPECT_NE(recent_error().find("aclSetRawTensorAddr: tensor must satisfy: is not null; it is null"),
            std::string::npos);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST(Objects, destroying_null_is_fine_and_twice_is_recognised) {
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  EXPECT_EQ(aclDestroyScalar(nullptr), 0);
  EXPECT_EQ(aclDestroyIntArray(nullptr), 0);
  EXPECT_EQ(aclDestroyFloatArray(nullptr), 0);
  EXPECT_EQ(aclDestroyBoolArray(nullptr), 0);
  EXPECT_EQ(aclDestroyTensorList(nullptr), 0);
  EXPECT_EQ(aclDestroyScalarList(nullptr), 0);
  float one = 1;
  aclScalar* s = aclCreateScalar(&one, ACL_FLOAT);
  EXPECT_EQ(aclDestroyScalar(s), 0);
  EXPECT_EQ(aclDestroyScalar(s), 161002);
  EXPECT_NE(recent_error().find("aclDestroyScalar: scalar must satisfy: is an object that was created"),
            std::string::npos);
  aclTensor* t = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclDestroyTensor(t), 161002);
  int64_t offset;
  EXPECT_EQ(aclGetViewOffset(t, &offset), 161002);
  EXPECT_EQ(aclDestroyTensor(reinterpret_cast<aclTensor*>(&offset)), 161002);
}

TEST(Objects, scalar_holds_every_dtype_of_numbers) {
  const auto value_of = [](auto v, aclDataType dtype) {
    aclScalar* s = aclCreateScalar(&v, dtype);
    EXPECT_NE(s, nullptr) << dtype;
    const double value = as_double(*s);
    EXPECT_EQ(aclDestroyScalar(s), 0);
    return value;
  };
  EXPECT_EQ(value_of(1.5f, ACL_FLOAT), 1.5);
  EXPECT_EQ(value_of(2.5, ACL_DOUBLE), 2.5);
  EXPECT_EQ(value_of(uint16_t{0x3e00}, ACL_FLOAT16), 1.5);
  EXPECT_EQ(value_of(uint16_t{0x3fc0}, ACL_BF16), 1.5);
  EXPECT_EQ(value_of(int8_t{-3}, ACL_INT8), -3);
  EXPECT_EQ(value_of(uint8_t{200}, ACL_UINT8), 200);
  EXPECT_EQ(value_of(int16_t{-300}, ACL_INT16), -300);
  EXPECT_EQ(value_of(uint16_t{60000}, ACL_UINT16), 60000);
  EXPECT_EQ(value_of(int32_t{-70000}, ACL_INT32), -70000);
  EXPECT_EQ(value_of(uint32_t{4000000000u}, ACL_UINT32), 4000000000.0);
  EXPECT_EQ(value_of(int64_t{-5}, ACL_INT64), -5);
  EXPECT_EQ(value_of(~uint64_t{0}, ACL_UINT64), 0x1p64);
  EXPECT_EQ(value_of(uint8_t{255}, ACL_BOOL), 1);
  const float complex[] = {1.5f, -2.0f};
  aclScalar* s = aclCreateScalar(const_cast<float*>(complex), ACL_COMPLEX64);
  EXPECT_EQ(s->real, 1.5);
  EXPECT_EQ(s->imaginary, -2);
  EXPECT_EQ(aclDestroyScalar(s), 0);
  // Rounded once: 2^24 + 1 + a little is above the middle of two floats, which double would have hidden.
  int64_t whole = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  s = aclCreateScalar(&whole, ACL_INT64);
  EXPECT_EQ(as_float(*s), 0x1.000002p60f);
  EXPECT_EQ(aclDestroyScalar(s), 0);
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
  EXPECT_EQ(aclCreateScalar(&whole, ACL_STRING), nullptr);
  EXPECT_NE(recent_error().find("aclCreateScalar: dataType must satisfy: is the dtype of a number; it is STRING"),
            std::string::npos);
}

TEST(Objects, an_array_of_more_than_memory_holds_is_none) {
  const int64_t value = 7;
  for (const uint64_t size : {uint64_t{1} << 61, UINT64_MAX}) {
    EXPECT_EQ(aclCreateIntArray(&value, size), nullptr);
    EXPECT_NE(recent_error().find("size must satisfy: is a number of elements that memory can hold; it is"),
              std::string::npos);
  }
}

TEST(Objects, arrays_copy_and_may_be_empty) {
  int64_t whole[] = {1, 2, 3};
  aclIntArray* ints = aclCreateIntArray(whole, 3);
  whole[0] = 9;
  EXPECT_EQ(ints->values, (Sizes{1, 2, 3}));
  uint64_t n = 0;
  EXPECT_EQ(aclGetIntArraySize(ints, &n), 0);
  EXPECT_EQ(n, 3u);
  EXPECT_EQ(aclGetIntArraySize(ints, nullptr), 161001);
  EXPECT_EQ(aclGetIntArraySize(nullptr, &n), 161001);
  EXPECT_EQ(aclDestroyIntArray(ints), 0);
  EXPECT_EQ(aclGetIntArraySize(ints, &n), 161002);

  const float floats[] = {0.5f};
  const bool bools[] = {true, false};
  aclFloatArray* f = aclCreateFloatArray(floats, 1);
  aclBoolArray* b = aclCreateBoolArray(bools, 2);
  EXPECT_EQ(aclGetFloatArraySize(f, &n), 0);
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(aclGetBoolArraySize(b, &n), 0);
  EXPECT_EQ(n, 2u);
  EXPECT_EQ(aclDestroyFloatArray(f), 0);
  EXPECT_EQ(aclDestroyBoolArray(b), 0);

  for (aclIntArray* empty : {aclCreateIntArray(nullptr, 3), aclCreateIntArray(whole, 0)}) {
    ASSERT_NE(empty, nullptr);
    EXPECT_EQ(aclGetIntArraySize(empty, &n), 0);
    EXPECT_EQ(n, 0u);
    EXPECT_EQ(aclDestroyIntArray(empty), 0);
  }
}

TEST(Objects, lists_destroy_their_elements) {
  float one = 1;
  aclTensor* t = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  aclScalar* s = aclCreateScalar(&one, ACL_FLOAT);
  aclTensorList* tensors_made = aclCreateTensorList(&t, 1);
  aclScalarList* scalars_made = aclCreateScalarList(&s, 1);
  uint64_t n = 0;
  EXPECT_EQ(aclGetTensorListSize(tensors_made, &n), 0);
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(aclGetScalarListSize(scalars_made, &n), 0);
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(aclDestroyTensorList(tensors_made), 0);
  EXPECT_EQ(aclDestroyScalarList(scalars_made), 0);
  EXPECT_EQ(aclDestroyTensor(t), 161002);
  EXPECT_EQ(aclDestroyScalar(s), 161002);
  EXPECT_EQ(aclDestroyTensorList(tensors_made), 161002);
  EXPECT_EQ(aclGetScalarListSize(nullptr, &n), 161001);
}

TEST(Objects, aclnn_init_needs_no_file) {
  EXPECT_EQ(aclnnInit(nullptr), 0);
  EXPECT_EQ(aclnnInit("/no/such/file"), 0);
  EXPECT_EQ(aclnnFinalize(), 0);
}

}  // namespace
}  // namespace descend::test
