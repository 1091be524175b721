// SPDX-License-Identifier: MIT
// Splitting a loop into chunks.
#include "src/backends/cpu/parallel.h"

#include <algorithm>
#include <atomic>

#include "src/backends/cpu/arena.h"
#include "src/base/environment.h"
#include "src/base/usual_floats.h"

namespace descend {
namespace {

// oneTBB runs the parts of a loop after what its caller did before, and lets the caller go on after all of them.  The
// thread sanitizer cannot see that in a library built without it, so builds with it say so once more.
enum class Edge { kCallerBefore, kPartBefore, kPartAfter, kCallerAfter };
#ifdef __SANITIZE_THREAD__
void state_order(Edge edge) {
  static std::atomic<int> begun{0}, ended{0};
  switch (edge) {
    case Edge::kCallerBefore:
      begun.fetch_add(1, std::memory_order_release);
      break;
    case Edge::kPartBefore:
      (void)begun.load(std::memory_order_acquire);
      break;
    case Edge::kPartAfter:
      ended.fetch_add(1, std::memory_order_release);
      break;
    case Edge::kCallerAfter:
      (void)ended.load(std::memory_order_acquire);
      break;
  }
}
#else
constexpr void state_order(Edge) {}
#endif

// States one edge now and one at the end, also when that is an exception.
class Stated {
 public:
  Stated(Edge before, Edge after) : after_(after) { state_order(before); }
  ~Stated() { state_order(after_); }
  Stated(const Stated&) = delete;
  Stated& operator=(const Stated&) = delete;

 private:
  const Edge after_;
};

}  // namespace

int parallel_width() {
  if (!arena_usable()) return 1;
  const int asked = environment().threads;
  return asked > 0 ? asked : arena_cores();
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (count <= 0) return;
  if (count <= grain) return body(0, count);
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (count - 1) / grain + 1;
  const auto run = [&](int64_t chunk) {
    const int64_t begin = chunk * grain;
    body(begin, begin + std::min(grain, count - begin));
  };
  const int width = chunks == 1 ? 1 : parallel_width();
  if (width == 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) run(chunk);
    return;
  }
  const auto run_part = [&](int64_t first, int64_t last) {
    const Stated part(Edge::kPartBefore, Edge::kPartAfter);
    const UsualFloats here;  // not the mode of whoever started this thread
    for (int64_t chunk = first; chunk < last; ++chunk) run(chunk);
  };
  const Stated caller(Edge::kCallerBefore, Edge::kCallerAfter);
  run_in_arena(width, chunks, run_part);
}

}  // namespace descend
