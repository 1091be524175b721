// SPDX-License-Identifier: MIT
#include "src/check/values.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "src/backends/cpu/parallel.h"
#include "src/base/exponent.h"
#include "src/base/text.h"
#include "src/check/shadow.h"

namespace descend {
namespace {

constexpr int64_t kGrain = 1 << 18;  // bytes a core looks at a time

// To an exponent of all ones one more is carried into the sign.  Of all elements in a word at once, whose carries do
// not reach the next.
template <class Of, class Word> Word carried(const std::byte* from) {
  using Bits = typename Of::Bits;
  constexpr Word kEach = static_cast<Word>(~Word{0}) / std::numeric_limits<Bits>::max();  // a 1 in every element
  constexpr Word kExponents = kEach * Of::kOnes, kOnes = kEach * (Of::kOnes & -Of::kOnes);
  constexpr Word kSigns = kEach * (std::numeric_limits<Bits>::max() / 2 + 1);
  Word word;
  std::memcpy(&word, from, sizeof word);
  return static_cast<Word>(((word & kExponents) + kOnes) & kSigns);
}
template <class Of> bool any_not_finite(const Stretch& part) {
  using Bits = typename Of::Bits;
  uint64_t seen = 0;
  const auto* from = reinterpret_cast<const std::byte*>(part.begin);
  if (part.run == sizeof(Bits)) {
    for (int64_t i = 0; i < part.count; ++i) seen |= carried<Of, Bits>(from + i * part.step);
    return seen != 0;
  }
  for (int64_t i = 0; i < part.count && seen == 0; ++i, from += part.step) {
    int64_t at = 0;
    for (; at + 8 <= part.run; at += 8) seen |= carried<Of, uint64_t>(from + at);
    for (; at < part.run; at += sizeof(Bits)) seen |= carried<Of, Bits>(from + at);
  }
  return seen != 0;
}

bool any_not_finite(DataType dtype, const Stretch& part) {
  bool any = false;
  visit(Inexacts{}, dtype, [&]<class T> { any = any_not_finite<Exponent<T>>(part); });
  return any;
}
bool is_not_finite(DataType dtype, const std::byte* element) {
  const auto item = static_cast<int64_t>(size_of(dtype));
  return any_not_finite(dtype, {reinterpret_cast<uintptr_t>(element), item, item, 1});
}

// body(part) of the parts of a view, in any order and on several cores, until it answers false.
template <class Body> void for_each_part(const aclTensor& view, const Body& body) {
  std::atomic<bool> go_on{true};
  for_each_stretch(view, [&](const Stretch& all) {
    // One run is cut, many are shared out.
    const bool one = all.count == 1;
    const int64_t units = one ? all.run : all.count, grain = one ? kGrain : kGrain / all.step + 1;
    const auto look = [&](int64_t first, int64_t last) {
      if (!go_on.load(std::memory_order_relaxed)) return;
      const uintptr_t begin = all.begin + static_cast<uintptr_t>(one ? first : first * all.step);
      if (!body(one ? Stretch{begin, last - first, all.step, 1} : Stretch{begin, all.run, all.step, last - first}))
        go_on = false;
    };
    if (units <= grain)
      look(0, units);
    else
      parallel_for(units, grain, look);
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
    for_each_part(view, [&](const Stretch& part) {
      bool valid = false, wrong = false;
      for (int64_t i = 0; i < part.count; ++i)
        for (int64_t at = 0; at < part.run; at += sizeof(T)) {
          T value;
          std::memcpy(&value, reinterpret_cast<const std::byte*>(part.begin) + i * part.step + at, sizeof value);
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
  std::atomic<bool> found{false};
  for_each_part(view, [&](const Stretch& part) {
    if (!any_not_finite(view.dtype, part)) return true;
    found = true;
    return false;
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
    if (!is_not_finite(t.dtype, at)) return true;
    text = cat(describe(t), " has ", is_floating(t.dtype) ? cat(number(t.dtype, at)) : "a NaN or an infinity", " at ",
               position(t, i));
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
    found = is_not_finite(rows.dtype, static_cast<const std::byte*>(rows.data) + element * item);
    return !found;
  });
  return found;
}

}  // namespace descend
