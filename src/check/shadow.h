// SPDX-License-Identifier: MIT
// Which bytes of an allocation were ever written.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/tensor/tensor.h"

namespace descend {

// One bit a byte, kept only while some are written and others not.  What lies past the end is never written.
class Shadow {
 public:
  explicit Shadow(size_t bytes = 0) : bytes_(bytes) {}

  void mark(size_t begin, size_t end);
  // The first byte in [begin, end) that was never written; `end` when there is none.
  size_t first_unwritten(size_t begin, size_t end) const;

 private:
  enum class State : uint8_t { kNone, kSome, kAll };
  static constexpr size_t kWord = 64;

  size_t bytes_;
  State state_ = State::kNone;
  std::vector<uint64_t> bits_;
};

// The bytes of a view as runs without gaps: calls body(begin, end) with addresses until it answers false.
template <class Body> void for_each_run(const aclTensor& t, const Body& body) {
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
  std::vector<int64_t> index(loops.size(), 0);
  for (;;) {
    if (!body(static_cast<uintptr_t>(at), static_cast<uintptr_t>(at + run))) return;
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

}  // namespace descend
