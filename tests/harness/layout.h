// SPDX-License-Identifier: MIT
// The ways a tensor of one shape can lie in memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace descend::test {

using Sizes = std::vector<int64_t>;

// Strides and offset of a view, in elements, and how many elements its storage has.
struct View {
  Sizes strides;
  int64_t offset = 0;
  int64_t storage = 0;
};

enum class Layout { kContiguous, kTransposed, kEverySecond, kOffset, kBroadcast, kNegative };

inline const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> all{Layout::kContiguous, Layout::kTransposed, Layout::kEverySecond,
                                       Layout::kOffset,     Layout::kBroadcast,  Layout::kNegative};
  return all;
}
// An output's elements may not share memory.
inline std::vector<Layout> output_layouts() {
  std::vector<Layout> some = all_layouts();
  std::erase(some, Layout::kBroadcast);
  return some;
}

inline std::string name(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kEverySecond:
      return "every second element";
    case Layout::kOffset:
      return "offset";
    case Layout::kBroadcast:
      return "broadcast by zero stride";
    case Layout::kNegative:
      return "negative stride";
  }
  return "?";
}

inline View lay_out(const Sizes& shape, Layout layout) {
  const size_t rank = shape.size();
  View view{Sizes(rank, 1), 0, 1};
  int64_t step = layout == Layout::kEverySecond ? 2 : 1;
  for (size_t j = 0; j < rank; ++j) {
    // Transposed: the first dimension is the innermost.
    const size_t i = layout == Layout::kTransposed ? j : rank - 1 - j;
    view.strides[i] = layout == Layout::kBroadcast && i == 0 ? 0 : step;
    if (view.strides[i] != 0) step *= std::max<int64_t>(shape[i], 1);
  }
  view.storage = step;
  if (layout == Layout::kOffset) view.offset = 7, view.storage += 7;
  if (layout == Layout::kNegative)
    for (size_t i = 0; i < rank; ++i) {  // every dimension runs back from its end
      view.offset += std::max<int64_t>(shape[i] - 1, 0) * view.strides[i];
      view.strides[i] = -view.strides[i];
    }
  return view;
}

}  // namespace descend::test
