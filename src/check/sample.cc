// SPDX-License-Identifier: MIT
#include "src/check/sample.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <type_traits>

#include "src/base/exponent.h"
#include "src/base/text.h"

namespace descend {
namespace {

constexpr size_t kMost = 64;
constexpr size_t kFew = 3;  // different ones that are not taken for chance

template <class T> int exponent(typename Exponent<T>::Bits bits) {
  return static_cast<int>((bits & Exponent<T>::kOnes) >> std::countr_zero(Exponent<T>::kOnes));
}

// From 2^-40 to 2^40.
bool is_ordinary(uint32_t word) { return std::abs(exponent<float>(word) - 127) <= 40; }

// The lower half of a float is the end of its fraction: as an element by itself it is 0, where the fraction is short,
// or of any magnitude.  Elements of one tensor are seldom as far from each other as these binary orders.
template <class Half> constexpr int kFar = 20;
template <> constexpr int kFar<float16> = 5;  // which has but 32

// A number that somebody wrote, such as 0.1: hardly any pair of elements is one, taken for a float.
bool is_short_decimal(uint32_t word) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", static_cast<double>(std::bit_cast<float>(word)));
  return std::strtof(text, nullptr) == std::bit_cast<float>(word);
}
// So many such are enough.
template <class Half> constexpr size_t kFewShort = 1;
template <> constexpr size_t kFewShort<float16> = kFew;

// Elements of FLOAT16 with no more than three binary digits behind the first, such as all whole numbers below 16, are
// that, taken for the upper halves of floats.
bool is_power_of_two(uint32_t word) { return (word & ((1u << 23) - 1)) == 0; }

// Words that show something: how many there are, how many different ones, and the first.
struct Shown {
  size_t count = 0, first = 0;
  std::set<uint32_t> different;
  void add(size_t i, uint32_t what) {
    if (count++ == 0) first = i;
    different.insert(what);
  }
};

// The number of the first word that shows it; as many as there are where none does.
template <class Half> size_t first_float(const std::vector<uint32_t>& words) {
  Shown written, above, exact;
  size_t far = 0, others = 0, powers = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto upper = static_cast<uint16_t>(words[i] >> 16), lower = static_cast<uint16_t>(words[i]);
    if (words[i] << 1 == 0) continue;  // 0 in either dtype
    const int apart = exponent<Half>(lower) - exponent<Half>(upper);
    if (!is_ordinary(words[i])) {
      ++others;
    } else if (lower == 0) {
      exact.add(i, upper);
      if (is_power_of_two(words[i])) ++powers;
    } else if (std::abs(apart) > kFar<Half>) {
      ++far;
      if (is_short_decimal(words[i])) written.add(i, words[i]);
      if (apart > 0) above.add(i, lower);  // numbers next to much smaller ones are usual, to many much larger ones not
    } else {
      ++others;
    }
  }
  if (far > others && written.count >= kFewShort<Half>) return written.first;
  if (far > others && above.different.size() >= kFew) return above.first;
  // Whole numbers and the like.  Every second element 0 and the others alike, as in rows of two classes, may be either.
  const bool all_exact = far + others == 0 && exact.different.size() >= kFew && 2 * exact.count >= words.size();
  const bool short_elements = std::is_same_v<Half, float16> && powers == exact.count;
  return all_exact && !short_elements ? exact.first : words.size();
}

}  // namespace

Sample::Sample(const void* data, size_t bytes, const Site& at) : at_(at) {
  const size_t all = bytes / sizeof(uint32_t);
  words_.resize(std::min(all, kMost));
  step_ = all / std::max<size_t>(words_.size(), 1);
  for (size_t i = 0; i < words_.size(); ++i)
    std::memcpy(&words_[i], static_cast<const std::byte*>(data) + i * step_ * sizeof(uint32_t), sizeof(uint32_t));
}

std::string Sample::floats_as(DataType half) const {
  std::string text;
  visit(Dtypes<float16, bfloat16>{}, half, [&]<class Half> {
    const size_t i = first_float<Half>(words_);
    if (i == words_.size()) return;
    const auto elements = std::bit_cast<std::array<Half, 2>>(words_[i]);
    const size_t begin = i * step_ * sizeof(uint32_t);
    text = cat("bytes ", begin, " to ", begin + sizeof(uint32_t), " are ", std::bit_cast<float>(words_[i]),
               " as FLOAT, but ", static_cast<float>(elements[0]), " and ", static_cast<float>(elements[1]), " as ",
               name(half));
  });
  return text;
}

}  // namespace descend
