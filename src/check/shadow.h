// SPDX-License-Identifier: MIT
// Which bytes of an allocation were ever written.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "src/tensor/tensor.h"

namespace descend {

// Memory that is 0 from the beginning, of which the process has no page before it is written.
template <class T> struct ZeroMemory {
  using value_type = T;
  ZeroMemory() = default;
  template <class Other> explicit ZeroMemory(const ZeroMemory<Other>&) {}
  T* allocate(size_t count) {
    if (void* const memory = std::calloc(count, sizeof(T))) return static_cast<T*>(memory);
    throw std::bad_alloc();
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  template <class Each> void construct(Each*) {}  // it is
  template <class Each> void construct(Each* at, const T& value) { *at = value; }
  bool operator==(const ZeroMemory&) const = default;
};

// One bit a byte, kept only while some are written and others not.  What lies past the end is never written.
class Shadow {
 public:
  explicit Shadow(size_t bytes = 0) : bytes_(bytes) {}

  // Views with gaps have many small ranges, so those are done here.
  void mark(size_t begin, size_t end) {
    if (state_ == State::kSome && begin < end && end <= bytes_ && begin / kWord == (end - 1) / kWord)
      bits_[begin / kWord] |= ones(begin % kWord, (end - 1) % kWord + 1);
    else
      mark_any(begin, end);
  }
  // The bytes from `begin` on are written where as many of `from`, which may be this one, are from `source` on.
  void mark_as(const Shadow& from, size_t source, size_t begin, size_t bytes);
  bool all() const { return state_ == State::kAll; }  // was written
  // The first byte in [begin, end) that was never written; `end` when there is none.
  size_t first_unwritten(size_t begin, size_t end) const {
    if (state_ == State::kSome && begin < end && end <= bytes_ && begin / kWord == (end - 1) / kWord)
      if (const uint64_t all = ones(begin % kWord, (end - 1) % kWord + 1); (bits_[begin / kWord] & all) == all)
        return end;
    return first_unwritten_of_any(begin, end);
  }
  // The first that was; `end` when there is none.
  size_t first_written(size_t begin, size_t end) const;

 private:
  enum class State : uint8_t { kNone, kSome, kAll };
  static constexpr size_t kWord = 64;

  // Bits [from, to) of a word, to at most 64.
  static uint64_t ones(size_t from, size_t to) {
    const uint64_t below = to >= kWord ? ~uint64_t{0} : (uint64_t{1} << to) - 1;
    return below & ~((uint64_t{1} << from) - 1);
  }
  void mark_any(size_t begin, size_t end);
  void clear(size_t begin, size_t end);
  size_t first_unwritten_of_any(size_t begin, size_t end) const;
  // The first bit of [begin, end) that is 1 in the bits ^ `flipped`; `end` when there is none.
  size_t first_one(size_t begin, size_t end, uint64_t flipped) const;

  size_t bytes_;
  State state_ = State::kNone;
  std::vector<uint64_t, ZeroMemory<uint64_t>> bits_;
};

// Runs of bytes, each `step` after the one before.
struct Stretch {
  uintptr_t begin;
  int64_t run, step, count;
};

// The bytes of a view as such stretches, as long as there are: calls body(stretch) until it answers false.
template <class Body> void for_each_stretch(const aclTensor& t, const Body& body) {
  struct Loop {
    int64_t step, count;
  };
  const auto item = static_cast<int64_t>(size_of(t.dtype));
  int64_t at = reinterpret_cast<intptr_t>(t.data) + t.offset * item, run = item;
  std::vector<Loop> loops;
  for (size_t k = 0; k < t.shape.size(); ++k) {
    if (t.shape[k] == 0) return;
    const int64_t step = t.strides[k] * item;
    if (t.shape[k] == 1 || step == 0) continue;
    if (step < 0) at += (t.shape[k] - 1) * step;
    loops.push_back({step < 0 ? -step : step, t.shape[k]});
  }
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.step > b.step; });
  while (!loops.empty() && loops.back().step <= run) {
    run += (loops.back().count - 1) * loops.back().step;
    loops.pop_back();
  }
  Loop inner{run, 1};
  if (!loops.empty()) {
    inner = loops.back();
    loops.pop_back();
  }
  std::vector<int64_t> index(loops.size(), 0);
  for (;;) {
    if (!body(Stretch{static_cast<uintptr_t>(at), run, inner.step, inner.count})) return;
    size_t k = loops.size();
    for (; k > 0; --k) {
      Loop& loop = loops[k - 1];
      at += loop.step;
      if (++index[k - 1] < loop.count) break;
      at -= loop.step * loop.count;
      index[k - 1] = 0;
    }
    if (k == 0) return;
  }
}

// The runs alone: body(begin, end) with addresses.
template <class Body> void for_each_run(const aclTensor& t, const Body& body) {
  for_each_stretch(t, [&](const Stretch& all) {
    uintptr_t at = all.begin;
    for (int64_t i = 0; i < all.count; ++i, at += static_cast<uintptr_t>(all.step))
      if (!body(at, at + static_cast<uintptr_t>(all.run))) return false;
    return true;
  });
}

}  // namespace descend
