// SPDX-License-Identifier: MIT
// Boxes of elements to and from a buffer: sizes, layouts and tails of tiles, against a loop of one line.
#include "src/loops/move.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace descend {
namespace {

struct Case {
  std::vector<int64_t> extent, stride;
  int64_t first = 0;  // element of the memory: where strides are negative not 0

  int rank() const { return static_cast<int>(extent.size()); }
  int64_t points() const { return std::accumulate(extent.begin(), extent.end(), int64_t{1}, std::multiplies<>()); }
  // Calls body(element, position) for every point, in the order of the buffer.
  template <class Body> void for_each(const Body& body) const {
    for (int64_t point = 0; point < points(); ++point) {
      int64_t rest = point, element = first;
      for (int i = rank() - 1; i >= 0; rest /= extent[i], --i) element += rest % extent[i] * stride[i];
      body(element, point);
    }
  }
  std::string text() const {
    std::string s;
    for (int i = 0; i < rank(); ++i) s += " " + std::to_string(extent[i]) + "*" + std::to_string(stride[i]);
    return s;
  }
};

// Both directions, with memory that ends with the last element, so that a sanitizer sees what lies beyond it.
void expect_moved(const Case& c, size_t size) {
  SCOPED_TRACE("elements of " + std::to_string(size) + " bytes:" + c.text());
  std::set<int64_t> points;
  c.for_each([&](int64_t element, int64_t) { points.insert(element); });
  const int64_t elements = *points.rbegin() + 1;
  std::vector<uint8_t> memory(static_cast<size_t>(elements) * size), buffer(static_cast<size_t>(c.points()) * size);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(i * 7 + i / 251);
  const Axes axes = axes_of(c.rank(), c.extent.data(), c.stride.data());
  uint8_t* const at = memory.data() + static_cast<size_t>(c.first) * size;

  std::vector<uint8_t> expected = buffer;
  c.for_each([&](int64_t element, int64_t position) {
    std::memcpy(&expected[static_cast<size_t>(position) * size], &memory[static_cast<size_t>(element) * size], size);
  });
  gather(axes, size, at, buffer.data());
  EXPECT_TRUE(buffer == expected);
  if (static_cast<int64_t>(points.size()) < c.points()) return;  // two points of one element are never written

  for (uint8_t& byte : buffer) byte = static_cast<uint8_t>(~byte);
  expected = memory;
  c.for_each([&](int64_t element, int64_t position) {
    std::memcpy(&expected[static_cast<size_t>(element) * size], &buffer[static_cast<size_t>(position) * size], size);
  });
  scatter(axes, size, buffer.data(), at);
  EXPECT_TRUE(memory == expected);  // what lies between the elements is what it was, too
}

void expect_moved(const Case& c) {
  for (const size_t size : {1, 2, 4, 8, 16}) expect_moved(c, size);
}

TEST(Move, TransposesMatricesOfAnySize) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 64, 67})
    for (const int64_t columns : {1, 2, 3, 4, 7, 8, 9, 16, 24, 33, 64, 71})
      expect_moved({.extent = {columns, rows}, .stride = {1, columns}});
}

TEST(Move, LeavesWhatLiesBetweenRowsAlone) {
  for (const int64_t gap : {1, 3, 40}) {
    expect_moved({.extent = {19, 21}, .stride = {1, 19 + gap}});
    expect_moved({.extent = {21, 19}, .stride = {19 + gap, 1}});
  }
}

TEST(Move, TakesAnyOrderOfDimensions) {
  const int64_t size[] = {5, 18, 34};
  int order[] = {0, 1, 2};
  do {
    Case c{.extent = {0, 0, 0}, .stride = {0, 0, 0}};
    int64_t step = 1;
    for (int i = 2; i >= 0; step *= size[i], --i) {
      c.extent[static_cast<size_t>(order[i])] = size[i];
      c.stride[static_cast<size_t>(order[i])] = step;
    }
    expect_moved(c);
  } while (std::next_permutation(order, order + 3));
}

TEST(Move, TakesStridesOfAnySign) {
  expect_moved({.extent = {17, 20}, .stride = {2, 40}});
  expect_moved({.extent = {17, 20}, .stride = {-1, 17}, .first = 16});
  expect_moved({.extent = {17, 20}, .stride = {1, -17}, .first = 19 * 17});
  expect_moved({.extent = {17, 20}, .stride = {-3, -51}, .first = 19 * 51 + 16 * 3});
}

TEST(Move, ReadsAnElementForManyPoints) {
  expect_moved({.extent = {17, 20}, .stride = {1, 0}});
  expect_moved({.extent = {17, 20}, .stride = {0, 1}});
  expect_moved({.extent = {9, 17, 20}, .stride = {0, 1, 17}});
  expect_moved({.extent = {17, 20}, .stride = {1, 1}});  // rows that overlap
}

}  // namespace
}  // namespace descend
