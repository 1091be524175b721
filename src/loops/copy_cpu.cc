// SPDX-License-Identifier: MIT
// The engine's copy kernel on the CPU.
#include <cstring>

#include "src/backends/cpu/parallel.h"
#include "src/loops/copy_kernels.h"

namespace descend {
namespace {

constexpr int64_t kChunk = 1 << 15;  // points a task copies

// Points [begin, end) of the iteration, rows of the innermost dimension at a time.
template <size_t item> void copy_points(const Iteration<2>& it, void* const* data, int64_t begin, int64_t end) {
  const int last = it.rank - 1;
  const int64_t inner = it.rank ? it.extent[last] : 1;
  const int64_t to_step = it.rank ? it.stride[0][last] : 0, from_step = it.rank ? it.stride[1][last] : 0;
  for (int64_t point = begin; point < end;) {
    int64_t rest = point / inner, to_at = 0, from_at = 0;
    for (int d = last - 1; d >= 0; rest /= it.extent[d], --d) {
      to_at += rest % it.extent[d] * it.stride[0][d];
      from_at += rest % it.extent[d] * it.stride[1][d];
    }
    const int64_t column = point % inner, n = std::min(inner - column, end - point);
    auto* to = static_cast<std::byte*>(data[0]) + (to_at + column * to_step) * int64_t{item};
    const auto* from = static_cast<const std::byte*>(data[1]) + (from_at + column * from_step) * int64_t{item};
    if (to_step == 1 && from_step == 1) {
      std::memcpy(to, from, static_cast<size_t>(n) * item);
    } else {
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(to + i * to_step * int64_t{item}, from + i * from_step * int64_t{item}, item);
    }
    point += n;
  }
}

Status copy(const CopyArgs& a, void* const* data, Launch&) {
  parallel_for(a.points.points(), kChunk, [&](int64_t begin, int64_t end) {
    switch (a.item) {
      case 1:
        return copy_points<1>(a.points, data, begin, end);
      case 2:
        return copy_points<2>(a.points, data, begin, end);
      case 4:
        return copy_points<4>(a.points, data, begin, end);
      case 8:
        return copy_points<8>(a.points, data, begin, end);
      default:
        return copy_points<16>(a.points, data, begin, end);
    }
  });
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kCopy, copy);

}  // namespace
}  // namespace descend
