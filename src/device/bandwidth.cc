// SPDX-License-Identifier: MIT
#include "src/device/bandwidth.h"

#include <algorithm>
#include <chrono>

#include "src/device/device.h"

namespace descend {

double copy_bandwidth(Device& device) {
  constexpr size_t kBytes = size_t{64} << 20;  // larger than caches
  void* const from = device.allocate(kBytes);
  void* const to = device.allocate(kBytes);
  double best = 0;
  if (from != nullptr && to != nullptr && device.fill(from, 1, kBytes).ok() && device.fill(to, 1, kBytes).ok()) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      if (!device.copy(to, from, kBytes).ok()) break;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::max(best, 2.0 * kBytes / took.count());
    }
  }
  if (from != nullptr) device.free(from);
  if (to != nullptr) device.free(to);
  return best;
}

}  // namespace descend
