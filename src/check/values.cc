// SPDX-License-Identifier: MIT
#include "src/check/values.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "src/backends/cpu/parallel.h"
#include "src/base/text.h"
#include "src/check/shadow.h"

namespace descend {
namespace {

constexpr int64_t kGrain = 1 << 18;  // bytes a core looks at a time

// Infinities and NaN have an exponent of all ones: one more is carried into the sign.  Of all elements in a word at
// once, whose carries do not reach the next.
template <class Bits, Bits infinity> bool any_not_finite(const std::byte* from, size_t bytes) {
  using Word = uint64_t;
  constexpr Word kEach = ~Word{0} / std::numeric_limits<Bits>::max();  // a 1 in every element
  constexpr Word kExponents = kEach * infinity, kOnes = kEach * (infinity & -infinity);
  Word seen = 0, word;
  size_t at = 0;
  for (; at + sizeof word <= bytes; at += sizeof word) {
    std::memcpy(&word, from + at, sizeof word);
    seen |= (word & kExponents) + kOnes;
  }
  word = 0;
  if (at < bytes) std::memcpy(&word, from + at, bytes - at);
  seen |= (word & kExponents) + kOnes;
  return (seen & ~(kEach * (std::numeric_limits<Bits>::max() / 2))) != 0;
}

bool any_not_finite(DataType dtype, const std::byte* from, size_t bytes) {
  switch (dtype) {
    case DataType::kFloat:
      return any_not_finite<uint32_t, 0x7f800000u>(from, bytes);
    case DataType::kFloat16:
      return any_not_finite<uint16_t, 0x7c00u>(from, bytes);
    case DataType::kBfloat16:
      return any_not_finite<uint16_t, 0x7f80u>(from, bytes);
    case DataType::kDouble:
      return any_not_finite<uint64_t, 0x7ff0000000000000u>(from, bytes);
    default:
      return false;
  }
}

// body(address, bytes) of the parts of a view, in any order and on several cores, until it answers false.
template <class Body> void for_each_part(const aclTensor& view, const Body& body) {
  std::atomic<bool> go_on{true};
  for_each_run(view, [&](uintptr_t begin, uintptr_t end) {
    const auto bytes = static_cast<int64_t>(end - begin);
    const auto look = [&](int64_t first, int64_t last) {
      if (!go_on.load(std::memory_order_relaxed)) return;
      if (!body(reinterpret_cast<const std::byte*>(begin) + first, static_cast<size_t>(last - first))) go_on = false;
    };
    if (bytes <= kGrain)
      look(0, bytes);
    else
      parallel_for(bytes, kGrain, look);
    return go_on.load();
  });
}

// body(element's address, its number in row-major order) until it answers false.
template <class Body> void for_each_element(const aclTensor& t, const Body& body) {
  const int64_t n = size_of(t);
  const auto item = static_cast<int64_t>(size_of(t.dtype));
  Dims index;
  index.assign(t.shape.size(), 0);
  int64_t at = t.offset;
  for (int64_t i = 0; i < n; ++i) {
    if (!body(static_cast<const std::byte*>(t.data) + at * item, i)) return;
    for (size_t k = index.size(); k-- > 0;) {
      at += t.strides[k];
      if (++index[k] < t.shape[k]) break;
      at -= t.strides[k] * t.shape[k];
      index[k] = 0;
    }
  }
}

double number(DataType dtype, const std::byte* at) {
  double value = 0;
  visit(Dtypes<float, float16, bfloat16, double>{}, dtype, [&]<class T> {
    T read;
    std::memcpy(&read, at, sizeof read);
    if constexpr (std::is_same_v<T, double>)
      value = read;
    else
      value = static_cast<float>(read);
  });
  return value;
}

int64_t integer(DataType dtype, const std::byte* at) {
  int64_t value = 0;
  visit(Dtypes<int64_t, int32_t, uint8_t>{}, dtype, [&]<class T> {
    T read;
    std::memcpy(&read, at, sizeof read);
    value = read;
  });
  return value;
}

bool is_class(int64_t value, const Advice::Classes& classes) { return value >= 0 && value < classes.count; }

// Whether there is a class, and whether there is anything else that is not ignored.
ClassCount look_for_classes(const aclTensor& view, const Advice::Classes& classes) {
  std::atomic<bool> any_valid{false}, any_wrong{false};
  visit(Dtypes<int64_t, int32_t, uint8_t>{}, view.dtype, [&]<class T> {
    for_each_part(view, [&](const std::byte* from, size_t bytes) {
      bool valid = false, wrong = false;
      for (size_t at = 0; at < bytes; at += sizeof(T)) {
        T value;
        std::memcpy(&value, from + at, sizeof value);
        const bool counts = value != classes.ignored, inside = is_class(value, classes);
        valid |= counts && inside;
        wrong |= counts && !inside;
      }
      if (valid) any_valid = true;
      if (wrong) any_wrong = true;
      return true;
    });
  });
  return {.valid = any_valid, .wrong = any_wrong};
}

}  // namespace

std::string position(const aclTensor& t, int64_t i) {
  Dims index;
  index.assign(t.shape.size(), 0);
  for (size_t k = t.shape.size(); k-- > 0; i /= t.shape[k]) index[k] = i % t.shape[k];
  std::string text = "[";
  for (size_t k = 0; k < index.size(); ++k) text += cat(k > 0 ? "," : "", index[k]);
  return text + "]";
}

bool has_not_finite(const aclTensor& view) {
  if (!is_floating(view.dtype)) return false;
  std::atomic<bool> found{false};
  for_each_part(view, [&](const std::byte* from, size_t bytes) {
    if (any_not_finite(view.dtype, from, bytes)) found = true;
    return !found;
  });
  return found;
}

ClassCount count_classes(const aclTensor& view, const Advice::Classes& classes) {
  ClassCount count = look_for_classes(view, classes);
  if (count.wrong == 0) return count;
  count.wrong = 0;
  for_each_element(view, [&](const std::byte* at, int64_t i) {
    const int64_t value = integer(view.dtype, at);
    if (value == classes.ignored || is_class(value, classes)) return true;
    if (count.wrong++ == 0) {
      count.first_wrong = i;
      count.value = value;
    }
    return true;
  });
  return count;
}

std::string first_not_finite(const aclTensor& t) {
  std::string text;
  for_each_element(t, [&](const std::byte* at, int64_t i) {
    if (!any_not_finite(t.dtype, at, size_of(t.dtype))) return true;
    text = cat(describe(t), " has ", number(t.dtype, at), " at ", position(t, i));
    return false;
  });
  return text;
}

bool has_not_finite_at(const aclTensor& rows, const aclTensor& targets, const Advice::Classes& classes) {
  bool found = false;
  for_each_element(targets, [&](const std::byte* at, int64_t i) {
    const int64_t value = integer(targets.dtype, at);
    if (value == classes.ignored || !is_class(value, classes)) return true;
    const int64_t element = rows.offset + i * rows.strides[0] + value * rows.strides[1];
    const auto item = static_cast<int64_t>(size_of(rows.dtype));
    found = any_not_finite(rows.dtype, static_cast<const std::byte*>(rows.data) + element * item, size_of(rows.dtype));
    return !found;
  });
  return found;
}

}  // namespace descend
