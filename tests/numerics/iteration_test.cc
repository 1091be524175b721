// SPDX-License-Identifier: MIT
// iterate against an enumeration of the output's indices, and what it merges.
#include "src/tensor/iteration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

namespace descend {
namespace {

aclTensor view(Shape shape, Dims strides, DataType dtype = DataType::kFloat) {
  aclTensor t;
  t.dtype = dtype;
  t.shape = shape;
  t.strides = strides;
  return t;
}

// The offsets of all operands at every point, sorted.
template <int N> using Points = std::vector<std::array<int64_t, N>>;

template <int N> Points<N> by_index(const std::array<const aclTensor*, N>& tensors) {
  Points<N> points;
  const Shape& shape = tensors[0]->shape;
  const int rank = static_cast<int>(shape.size());
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  for (int64_t number = 0; number < count; ++number) {
    std::array<int64_t, N> offset{};
    int64_t rest = number;
    for (int i = rank - 1; i >= 0; rest /= shape[i], --i)
      for (int k = 0; k < N; ++k) {
        const int own = i - rank + static_cast<int>(tensors[k]->shape.size());
        if (own >= 0 && tensors[k]->shape[own] != 1) offset[k] += rest % shape[i] * tensors[k]->strides[own];
      }
    points.push_back(offset);
  }
  std::sort(points.begin(), points.end());
  return points;
}

template <int N> Points<N> by_iteration(const Iteration<N>& it) {
  Points<N> points;
  for (int64_t number = 0; number < it.points(); ++number) {
    std::array<int64_t, N> offset{};
    int64_t rest = number;
    for (int i = it.rank - 1; i >= 0; rest /= it.extent[i], --i)
      for (int k = 0; k < N; ++k) offset[k] += rest % it.extent[i] * it.stride[k][i];
    points.push_back(offset);
  }
  std::sort(points.begin(), points.end());
  return points;
}

TEST(iterate, contiguous_operands_become_one_line_whatever_their_rank) {
  const aclTensor a = view({2, 1, 3, 4}, {12, 77, 4, 1});
  const Iteration<3> it = iterate<3>({&a, &a, &a});
  EXPECT_EQ(it.rank, 1);
  EXPECT_EQ(it.extent[0], 24);
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(it.contiguous(k));
}

TEST(iterate, a_single_point_has_no_dimensions) {
  for (const aclTensor& a : {view({}, {}), view({1, 1}, {5, -3})}) {
    const Iteration<2> it = iterate<2>({&a, &a});
    EXPECT_EQ(it.rank, 0);
    EXPECT_EQ(it.points(), 1);
    EXPECT_TRUE(it.contiguous(1));
  }
}

TEST(iterate, an_extent_of_zero_leaves_no_points) {
  const aclTensor out = view({3, 0, 2}, {0, 2, 1}), in = view({1, 0, 1}, {9, 9, 9});
  const Iteration<2> it = iterate<2>({&out, &in});
  EXPECT_EQ(it.points(), 0);
  EXPECT_EQ(it.rank, 1);
}

TEST(iterate, a_transposed_pair_is_one_line_too) {
  const aclTensor a = view({3, 4}, {1, 3});
  const Iteration<2> it = iterate<2>({&a, &a});
  EXPECT_EQ(it.rank, 1);
  EXPECT_TRUE(it.contiguous(0));
}

TEST(iterate, the_innermost_dimension_is_the_outputs_nearest) {
  const aclTensor out = view({4, 5}, {1, 4}), in = view({4, 5}, {5, 1});
  const Iteration<2> it = iterate<2>({&out, &in});
  ASSERT_EQ(it.rank, 2);
  EXPECT_EQ(it.extent[1], 4);
  EXPECT_EQ(it.stride[0][1], 1);
  EXPECT_EQ(it.stride[1][1], 5);
}

TEST(iterate, reversed_operands_merge_when_all_are_reversed) {
  const aclTensor a = view({3, 4}, {-4, -1});
  const Iteration<2> it = iterate<2>({&a, &a});
  EXPECT_EQ(it.rank, 1);
  EXPECT_EQ(it.stride[0][0], -1);
  EXPECT_FALSE(it.contiguous(0));
}

TEST(iterate, a_broadcast_scalar_keeps_one_line) {
  const aclTensor out = view({6, 7}, {7, 1}), scalar = view({}, {}), one = view({1}, {1});
  const Iteration<3> it = iterate<3>({&out, &scalar, &one});
  EXPECT_EQ(it.rank, 1);
  EXPECT_EQ(it.extent[0], 42);
  EXPECT_EQ(it.stride[1][0], 0);
  EXPECT_EQ(it.stride[2][0], 0);
}

TEST(iterate, dtypes_are_carried) {
  const aclTensor out = view({2}, {1}), in = view({2}, {2}, DataType::kBfloat16);
  const Iteration<2> it = iterate<2>({&out, &in});
  EXPECT_EQ(it.dtype[0], DataType::kFloat);
  EXPECT_EQ(it.dtype[1], DataType::kBfloat16);
}

// Permuted, sliced, reversed and broadcast operands of up to 8 dimensions.
TEST(iterate, visits_exactly_the_points_of_the_output) {
  constexpr unsigned kSeed = 20240607;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 3000; ++round) {
    const int rank = round % 9;
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(rank > 5 ? 1 + below(2) + (below(6) == 0) : 1 + below(4));
    const auto operand = [&](bool is_output) {
      std::vector<int> order(rank);
      std::iota(order.begin(), order.end(), 0);
      if (below(2)) std::shuffle(order.begin(), order.end(), random);
      Dims strides = shape, own = shape;
      int64_t step = 1 + below(2);
      for (int j = rank - 1; j >= 0; --j) {
        const int i = order[j];
        strides[i] = below(5) ? step : -step;
        step *= shape[i] + (below(4) == 0);
        if (!is_output && below(4) == 0) own[i] = 1;
        if (!is_output && below(6) == 0) strides[i] = 0;
      }
      const int drop = is_output ? 0 : static_cast<int>(below(rank + 1)) * (below(3) == 0);
      return view(Dims(own.begin() + drop, own.size() - drop), Dims(strides.begin() + drop, own.size() - drop));
    };
    const aclTensor out = operand(true), a = operand(false), b = operand(false);
    const std::array<const aclTensor*, 3> tensors{&out, &a, &b};
    const Iteration<3> it = iterate<3>(tensors);
    ASSERT_EQ(by_iteration(it), by_index<3>(tensors)) << "round " << round;
    for (int i = 0; i < it.rank; ++i) ASSERT_NE(it.extent[i], 1) << "round " << round;
    for (int i = 1; i < it.rank; ++i)
      ASSERT_GE(std::abs(it.stride[0][i - 1]), std::abs(it.stride[0][i])) << "round " << round;
  }
}

TEST(iterate_in_order, keeps_row_major_order_whatever_the_strides) {
  const aclTensor transposed = view({3, 4}, {1, 3}), row = view({4}, {1});
  const auto it = iterate_in_order<2>({3, 4}, {&transposed, &row});
  ASSERT_EQ(it.rank, 2);
  EXPECT_EQ(it.extent[0], 3);
  EXPECT_EQ(it.extent[1], 4);
  EXPECT_EQ(it.stride[0][0], 1);
  EXPECT_EQ(it.stride[0][1], 3);
  EXPECT_EQ(it.stride[1][0], 0);
  EXPECT_EQ(it.stride[1][1], 1);
}

TEST(iterate_in_order, merges_neighbours_and_drops_ones) {
  const aclTensor a = view({2, 1, 3, 4}, {12, 99, 4, 1}), b = view({}, {}, DataType::kFloat16);
  const auto it = iterate_in_order<2>({2, 1, 3, 4}, {&a, &b});
  ASSERT_EQ(it.rank, 1);
  EXPECT_EQ(it.extent[0], 24);
  EXPECT_EQ(it.stride[0][0], 1);
  EXPECT_EQ(it.stride[1][0], 0);
  EXPECT_EQ(it.dtype[1], DataType::kFloat16);
}

TEST(iterate_in_order, of_an_empty_shape_has_no_points) {
  const aclTensor a = view({3, 0}, {0, 1}), b = view({1}, {1});
  EXPECT_EQ((iterate_in_order<2>({3, 0}, {&a, &b}).points()), 0);
  EXPECT_EQ((iterate_in_order<1>({}, {&b}).points()), 1);
}

}  // namespace
}  // namespace descend
