// SPDX-License-Identifier: MIT
// Splitting a loop into chunks.
#include "src/backends/cpu/parallel.h"

#include <algorithm>
#include <atomic>

#include "src/backends/cpu/arena.h"
#include "src/base/environment.h"

namespace descend {

int parallel_width() {
  if (!arena_usable()) return 1;
  const int asked = environment().threads;
  return asked > 0 ? asked : arena_cores();
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (count <= 0) return;
  grain = std::clamp<int64_t>(grain, 1, count);
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
  // oneTBB orders caller, chunks and return.  A thread sanitizer does not see that in a library built without it, so
  // it is said here once more; a chunk is long enough not to notice.
  std::atomic<int64_t> order{0};
  order.store(1, std::memory_order_release);
  run_in_arena(width, chunks, [&](int64_t first, int64_t last) {
    (void)order.load(std::memory_order_acquire);
    for (int64_t chunk = first; chunk < last; ++chunk) run(chunk);
    order.fetch_add(1, std::memory_order_release);
  });
  (void)order.load(std::memory_order_acquire);
}

}  // namespace descend
