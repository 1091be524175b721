// SPDX-License-Identifier: MIT
#include "src/check/sample.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "src/base/exponent.h"
#include "src/base/text.h"

namespace descend {
namespace {

constexpr size_t kMost = 64;
constexpr size_t kFewExact = 3;  // alternating zeros that are not taken for chance

template <class T> int exponent(typename Exponent<T>::Bits bits) {
  return static_cast<int>((bits & Exponent<T>::kOnes) >> std::countr_zero(Exponent<T>::kOnes));
}

// From 2^-40 to 2^40.
bool is_ordinary(uint32_t word) { return std::abs(exponent<float>(word) - 127) <= 40; }

// The lower half of a float is the end of its fraction: as an element by itself it is 0, where the fraction is short,
// or of any magnitude.  Elements of one tensor are seldom as far from each other as these binary orders.
template <class Half> constexpr int kFar = 20;
template <> constexpr int kFar<float16> = 5;  // which has but 32
// So many that are this far are no chance.
template <class Half> constexpr size_t kFewFar = 1;
template <> constexpr size_t kFewFar<float16> = 3;

// The number of the first word that shows it; as many as there are where none does.
template <class Half> size_t first_float(const std::vector<uint32_t>& words) {
  size_t far = 0, exact = 0, others = 0, first_far = 0, first_exact = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto upper = static_cast<uint16_t>(words[i] >> 16), lower = static_cast<uint16_t>(words[i]);
    if (words[i] << 1 == 0) continue;  // 0 in either dtype
    if (!is_ordinary(words[i]))
      ++others;
    else if (lower == 0)
      first_exact = exact++ == 0 ? i : first_exact;
    else if (std::abs(exponent<Half>(upper) - exponent<Half>(lower)) > kFar<Half>)
      first_far = far++ == 0 ? i : first_far;
    else
      ++others;
  }
  if (far >= kFewFar<Half> && far > others) return first_far;
  const bool all_exact = far + others == 0 && exact >= kFewExact && 2 * exact >= words.size();
  return all_exact ? first_exact : words.size();
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
