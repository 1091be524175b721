// SPDX-License-Identifier: MIT
#include "src/check/shadow.h"

#include <bit>

namespace descend {

void Shadow::mark_any(size_t begin, size_t end) {
  end = std::min(end, bytes_);
  if (begin >= end || state_ == State::kAll) return;
  if (begin == 0 && end == bytes_) {
    state_ = State::kAll;
    bits_ = decltype(bits_)();  // {} would keep the memory
    return;
  }
  if (state_ == State::kNone) bits_ = decltype(bits_)((bytes_ + kWord - 1) / kWord);
  state_ = State::kSome;
  const size_t first = begin / kWord, last = (end - 1) / kWord;
  if (first == last) {
    bits_[first] |= ones(begin % kWord, (end - 1) % kWord + 1);
    return;
  }
  bits_[first] |= ones(begin % kWord, kWord);
  std::fill(bits_.begin() + static_cast<std::ptrdiff_t>(first) + 1, bits_.begin() + static_cast<std::ptrdiff_t>(last),
            ~uint64_t{0});
  bits_[last] |= ones(0, (end - 1) % kWord + 1);
}

void Shadow::clear(size_t begin, size_t end) {
  end = std::min(end, bytes_);
  if (begin >= end || state_ == State::kNone) return;
  if (begin == 0 && end == bytes_) {
    state_ = State::kNone;
    bits_ = decltype(bits_)();
    return;
  }
  if (state_ == State::kAll) bits_.assign((bytes_ + kWord - 1) / kWord, ~uint64_t{0});
  state_ = State::kSome;
  const size_t first = begin / kWord, last = (end - 1) / kWord;
  for (size_t word = first; word <= last; ++word)
    bits_[word] &= ~ones(word == first ? begin % kWord : 0, word == last ? (end - 1) % kWord + 1 : kWord);
}

void Shadow::mark_as(const Shadow& from, size_t source, size_t begin, size_t bytes) {
  const size_t end = source + bytes;
  if (from.first_unwritten(source, end) == end) return mark(begin, begin + bytes);
  if (&from == this) {
    Shadow part(bytes);
    part.mark_as(from, source, 0, bytes);
    return mark_as(part, 0, begin, bytes);
  }
  clear(begin, begin + bytes);
  for (size_t at = from.first_written(source, end); at < end;) {
    const size_t gap = from.first_unwritten(at, end);
    mark(begin + (at - source), begin + (gap - source));
    at = from.first_written(gap, end);
  }
}

size_t Shadow::first_one(size_t begin, size_t end, uint64_t flipped) const {
  for (size_t at = begin; at < end; at = (at / kWord + 1) * kWord) {
    const uint64_t found = (bits_[at / kWord] ^ flipped) & ones(at % kWord, std::min(kWord, end - at / kWord * kWord));
    if (found != 0) return at / kWord * kWord + static_cast<size_t>(std::countr_zero(found));
  }
  return end;
}

size_t Shadow::first_unwritten_of_any(size_t begin, size_t end) const {
  const size_t last = std::min(end, bytes_);
  if (begin >= last) return std::min(begin, end);  // past the end nothing is ever written
  if (state_ == State::kNone) return begin;
  return state_ == State::kAll ? last : first_one(begin, last, ~uint64_t{0});
}

size_t Shadow::first_written(size_t begin, size_t end) const {
  const size_t last = std::min(end, bytes_);
  if (begin >= last || state_ == State::kNone) return end;
  if (state_ == State::kAll) return begin;
  const size_t found = first_one(begin, last, 0);
  return found < last ? found : end;
}

}  // namespace descend
