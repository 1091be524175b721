// SPDX-License-Identifier: MIT
// The ways a tensor of one shape can lie in memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
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

enum class Layout { kContiguous, kTransposed, kEverySecond, kOffset, kBroadcast, kNegative, kChannelsLast };

inline const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> all{Layout::kContiguous, Layout::kTransposed, Layout::kEverySecond, Layout::kOffset,
                                       Layout::kBroadcast,  Layout::kNegative,   Layout::kChannelsLast};
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
    case Layout::kChannelsLast:
      return "channels last";
  }
  return "?";
}

// The same as part of a test's name.
inline std::string identifier(Layout layout) {
  std::string text = name(layout);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

// The dimensions, the innermost first.
inline std::vector<size_t> order_of(size_t rank, Layout layout) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  if (layout != Layout::kTransposed) std::reverse(order.begin(), order.end());
  if (layout == Layout::kChannelsLast && rank > 1) std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  return order;
}

inline View lay_out(const Sizes& shape, Layout layout) {
  const size_t rank = shape.size();
  View view{Sizes(rank, 1), 0, 1};
  int64_t step = layout == Layout::kEverySecond ? 2 : 1;
  for (const size_t i : order_of(rank, layout)) {
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
