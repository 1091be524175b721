// SPDX-License-Identifier: MIT
// Shapes, promotion and overlap, against brute force.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "src/tensor/overlap.h"
#include "src/tensor/promote.h"

namespace descend::test {
namespace {

aclTensor view(DataType dtype, Dims shape, Dims strides, int64_t offset, void* data) {
  aclTensor t;
  t.dtype = dtype;
  t.shape = shape;
  t.strides = strides;
  t.offset = offset;
  t.data = data;
  return t;
}

// Every byte an element owns, as often as it is owned.
std::multiset<int64_t> bytes_of(const aclTensor& t) {
  std::multiset<int64_t> bytes;
  const auto item = static_cast<int64_t>(size_of(t.dtype));
  for (int64_t i = 0; i < size_of(t); ++i) {
    int64_t element = t.offset, rest = i;
    for (size_t k = t.shape.size(); k-- > 0; rest /= t.shape[k]) element += rest % t.shape[k] * t.strides[k];
    for (int64_t b = 0; b < item; ++b) bytes.insert(reinterpret_cast<intptr_t>(t.data) + element * item + b);
  }
  return bytes;
}

aclTensor random_view(std::mt19937& engine, void* data) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); };
  const DataType dtypes[] = {DataType::kInt8, DataType::kFloat16, DataType::kFloat, DataType::kDouble};
  Dims shape, strides;
  for (int64_t rank = pick(0, 3); rank > 0; --rank) {
    shape.push_back(pick(0, 9) == 0 ? 0 : pick(1, 5));
    strides.push_back(pick(-7, 9));
  }
  return view(dtypes[pick(0, 3)], shape, strides, pick(0, 40), data);
}

TEST(TensorViews, overlap_is_what_brute_force_says) {
  std::mt19937 engine(1);
  alignas(8) char memory[1024];
  int themselves = 0, pairs = 0;
  for (int i = 0; i < 20000; ++i) {
    const aclTensor a = random_view(engine, memory + 256), b = random_view(engine, memory + 256);
    const auto owned = bytes_of(a), others = bytes_of(b);
    const bool doubled = std::set<int64_t>(owned.begin(), owned.end()).size() != owned.size();
    ASSERT_EQ(overlaps_itself(a), doubled) << describe(a);
    bool shared = false;
    for (int64_t byte : others) shared |= owned.contains(byte);
    Extent at, other;
    ASSERT_TRUE(measure(a, false, at));
    ASSERT_TRUE(measure(b, false, other));
    ASSERT_EQ(measure(a, true, at), !doubled);
    if (!owned.empty()) {
      ASSERT_EQ(at.begin, *owned.begin());
      ASSERT_EQ(at.end, *owned.rbegin() + 1);
    }
    ASSERT_EQ(overlap(a, at, b, other), shared)
        << describe(a) << "+" << a.offset << " " << describe(b) << "+" << b.offset;
    themselves += doubled, pairs += shared;
  }
  EXPECT_GT(themselves, 1000);
  EXPECT_GT(pairs, 1000);
}

TEST(TensorViews, large_views_are_decided_without_visiting_them) {
  Extent at, other;
  alignas(8) char memory[8];
  const int64_t big = int64_t{1} << 40;
  const aclTensor even = view(DataType::kFloat, {big}, {2}, 0, memory),
                  odd = view(DataType::kFloat, {big}, {2}, 1, memory);
  ASSERT_TRUE(measure(even, true, at));
  ASSERT_TRUE(measure(odd, true, other));
  EXPECT_FALSE(overlap(even, at, odd, other));
  const aclTensor shifted = view(DataType::kFloat, {big}, {2}, 2, memory);
  ASSERT_TRUE(measure(shifted, true, other));
  EXPECT_TRUE(overlap(even, at, shifted, other));
  EXPECT_TRUE(overlaps_itself(view(DataType::kFloat, {big, 3}, {3, 3}, 0, memory)));
  EXPECT_FALSE(overlaps_itself(view(DataType::kFloat, {3, big}, {1, 3}, 0, memory)));
}

TEST(TensorViews, same_view_ignores_strides_of_single_elements) {
  char memory[8];
  const aclTensor a = view(DataType::kFloat, {1, 3}, {3, 1}, 0, memory);
  EXPECT_TRUE(same_view(a, view(DataType::kFloat, {1, 3}, {77, 1}, 0, memory)));
  EXPECT_FALSE(same_view(a, view(DataType::kFloat, {1, 3}, {3, 2}, 0, memory)));
  EXPECT_FALSE(same_view(a, view(DataType::kFloat, {1, 3}, {3, 1}, 1, memory)));
  EXPECT_FALSE(same_view(a, view(DataType::kInt32, {1, 3}, {3, 1}, 0, memory)));
}

TEST(TensorShapes, count_knows_negative_sizes_and_overflow) {
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({2, 3}), 6);
  EXPECT_EQ(count({0, int64_t{1} << 62, 8}), 0);
  EXPECT_EQ(count({-1, 0}), std::nullopt);
  EXPECT_EQ(count({int64_t{1} << 62, 2}), std::nullopt);
}

TEST(TensorShapes, broadcast_aligns_at_the_last_dimension) {
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({3, 1}, {2, 1, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({}, {5}), (Shape{5}));
  EXPECT_EQ(broadcast({0}, {1}), (Shape{0}));
  EXPECT_EQ(broadcast({2}, {3}), std::nullopt);
}

TEST(TensorShapes, dims_beyond_eight_are_kept) {
  Dims d;
  for (int64_t i = 0; i < 12; ++i) d.push_back(i);
  Dims copy = d;
  EXPECT_EQ(copy, d);
  EXPECT_EQ(copy[11], 11);
  copy = Dims{1, 2};
  EXPECT_EQ(copy, (Dims{1, 2}));
}

using enum DataType;

TEST(TensorDtypes, convert_as_the_contract_says) {
  const DataType floats[] = {kFloat, kFloat16, kBfloat16, kDouble},
                 ints[] = {kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64},
                 complexes[] = {kComplex32, kComplex64, kComplex128};
  for (DataType f : floats) {
    for (DataType g : floats) EXPECT_TRUE(converts(f, g));
    for (DataType i : ints) {
      EXPECT_FALSE(converts(f, i));
      EXPECT_TRUE(converts(i, f));
    }
    for (DataType c : complexes) {
      EXPECT_TRUE(converts(f, c));
      EXPECT_FALSE(converts(c, f));
    }
    EXPECT_FALSE(converts(f, kBool));
    EXPECT_TRUE(converts(kBool, f));
  }
  for (DataType i : ints) {
    for (DataType j : ints) EXPECT_TRUE(converts(i, j));
    EXPECT_FALSE(converts(i, kBool));
    EXPECT_TRUE(converts(kBool, i));
    for (DataType c : complexes) {
      EXPECT_TRUE(converts(i, c));
      EXPECT_FALSE(converts(c, i));
    }
  }
  EXPECT_TRUE(converts(kBool, kBool));
  EXPECT_FALSE(converts(kComplex64, kBool));
  EXPECT_FALSE(converts(kString, kFloat));
  EXPECT_FALSE(converts(kFloat, kUndefined));
}

TEST(TensorDtypes, promote_as_the_contract_says) {
  const struct {
    DataType a, b, both;
  } table[] = {{kFloat16, kBfloat16, kFloat},
               {kFloat, kFloat16, kFloat},
               {kFloat, kBfloat16, kFloat},
               {kFloat, kInt64, kFloat},
               {kFloat, kBool, kFloat},
               {kDouble, kFloat, kDouble},
               {kDouble, kInt8, kDouble},
               {kDouble, kBool, kDouble},
               {kFloat16, kInt64, kFloat16},
               {kBfloat16, kUint8, kBfloat16},
               {kFloat16, kBool, kFloat16},
               {kInt8, kUint8, kInt16},
               {kInt8, kInt32, kInt32},
               {kUint8, kInt16, kInt16},
               {kInt32, kInt64, kInt64},
               {kBool, kInt8, kInt8},
               {kComplex64, kDouble, kComplex128},
               {kComplex64, kFloat16, kComplex64},
               {kComplex64, kInt64, kComplex64},
               {kComplex32, kFloat, kComplex64},
               {kComplex64, kComplex128, kComplex128}};
  for (const auto& [a, b, both] : table) {
    EXPECT_EQ(promote(a, b), both) << name(a) << " " << name(b);
    EXPECT_EQ(promote(b, a), both) << name(b) << " " << name(a);
  }
  for (DataType lone : {kUint16, kUint32, kUint64}) {
    EXPECT_EQ(promote(lone, lone), lone);
    for (DataType other : {kFloat, kInt64, kBool, kComplex64}) EXPECT_EQ(promote(lone, other), std::nullopt);
  }
}

}  // namespace
}  // namespace descend::test
