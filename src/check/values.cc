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

// Numbers whose exponent is all ones are infinities and NaN: without their sign the largest of all.
template <class Bits, Bits infinity> bool any_not_finite(const std::byte* from, size_t bytes) {
  constexpr size_t kLanes = 128 / sizeof(Bits);  // a few vectors of any machine
  constexpr auto kMagnitude = static_cast<Bits>(std::numeric_limits<Bits>::max() / 2);
  Bits largest[kLanes] = {};
  const auto look = [&](const std::byte* at, size_t n) {
    Bits values[kLanes] = {};
    std::memcpy(values, at, n);
    for (size_t i = 0; i < kLanes; ++i) {
      const auto magnitude = static_cast<Bits>(values[i] & kMagnitude);
      largest[i] = largest[i] > magnitude ? largest[i] : magnitude;
    }
  };
  size_t at = 0;
  for (; at + sizeof largest <= bytes; at += sizeof largest) look(from + at, sizeof largest);
  if (at < bytes) look(from + at, bytes - at);
  return *std::max_element(largest, largest + kLanes) >= infinity;
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

// "[1,2]" of element i.
std::string position(const aclTensor& t, int64_t i) {
  Dims index;
  index.assign(t.shape.size(), 0);
  for (size_t k = t.shape.size(); k-- > 0; i /= t.shape[k]) index[k] = i % t.shape[k];
  std::string text = "[";
  for (size_t k = 0; k < index.size(); ++k) text += cat(k > 0 ? "," : "", index[k]);
  return text + "]";
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

// The first that is not finite, in words.
std::string first_not_finite(const aclTensor& t) {
  std::string text;
  for_each_element(t, [&](const std::byte* at, int64_t i) {
    if (!any_not_finite(t.dtype, at, size_of(t.dtype))) return true;
    text = cat(describe(t), " has ", number(t.dtype, at), " at ", position(t, i));
    return false;
  });
  return text;
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

}  // namespace

bool has_not_finite(const aclTensor& view) {
  if (!is_floating(view.dtype)) return false;
  bool found = false;
  for_each_run(view, [&](uintptr_t begin, uintptr_t end) {
    const auto* from = reinterpret_cast<const std::byte*>(begin);
    const auto bytes = static_cast<int64_t>(end - begin);
    if (bytes <= kGrain) {
      found = any_not_finite(view.dtype, from, static_cast<size_t>(bytes));
      return !found;
    }
    std::atomic<bool> any{false};
    parallel_for(bytes, kGrain, [&](int64_t first, int64_t last) {
      if (!any.load(std::memory_order_relaxed) && any_not_finite(view.dtype, from + first, last - first)) any = true;
    });
    found = any;
    return !found;
  });
  return found;
}

ClassCount count_classes(const aclTensor& view, const Advice::Classes& classes) {
  ClassCount count;
  for_each_element(view, [&](const std::byte* at, int64_t i) {
    const int64_t value = integer(view.dtype, at);
    if (value == classes.ignored) return true;
    if (value >= 0 && value < classes.count) {
      ++count.valid;
    } else if (count.wrong++ == 0) {
      count.first_wrong = i;
      count.value = value;
    }
    return true;
  });
  return count;
}

ValueWatch::ValueWatch(Reporter& reporter, Advice advice, const char* function, std::span<const Use> uses, Site site,
                       std::map<std::string, Site> tensors)
    : reporter_(reporter),
      advice_(std::move(advice)),
      function_(function),
      uses_(uses.begin(), uses.end()),
      site_(std::move(site)),
      tensors_(std::move(tensors)),
      expected_(advice_.not_finite || advice_.has(Advice::Remark::kMeanOfNothing)) {}

void ValueWatch::report(Finding finding, const std::string& argument, std::string text) const {
  Reported found{finding, function_, argument, std::move(text), {{"called at", site_}}};
  found.add_made(tensors_);
  reporter_.report(found);
}

void ValueWatch::before() {
  for (const Advice::Classes& classes : advice_.classes)
    for (const Use& use : uses_) {
      if (use.name != classes.parameter) continue;
      const ClassCount count = count_classes(use.view, classes);
      if (count.wrong > 0)
        report(Finding::kTarget, use.name,
               cat(describe(use.view), " has ", count.value, " at ", position(use.view, count.first_wrong), "; ",
                   classes.count == 0 ? "there are no classes" : cat("classes are 0 to ", classes.count - 1),
                   ", ignoreIndex is ", classes.ignored,
                   count.wrong > 1 ? cat("; ", count.wrong, " elements are such") : ""));
      if (classes.mean && count.valid == 0) {
        expected_ = true;
        report(Finding::kMeanOfNothing, use.name,
               cat("none of the ", size_of(use.view), " targets counts, so there is nothing to divide by"));
      }
    }
  // What is written over cannot be looked at afterwards.
  for (const Use& use : uses_)
    if (use.read && use.written && !expected_) expected_ = has_not_finite(use.view);
  for (const Use& in : uses_)
    for (const Use& out : uses_) {
      if (expected_ || !in.read || in.written || !out.written) continue;
      if (in.view.data == out.view.data) expected_ = has_not_finite(in.view);
    }
}

void ValueWatch::after() {
  if (expected_) return;
  for (const Use& out : uses_) {
    if (!out.written || !has_not_finite(out.view)) continue;
    for (const Use& in : uses_)
      if (in.read && !in.written && has_not_finite(in.view)) return;
    report(Finding::kNotFinite, out.name, first_not_finite(out.view));
  }
}

}  // namespace descend
