// SPDX-License-Identifier: MIT
// Names the processor and measures its memory bandwidth.
#include "bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace descend::bench {
namespace {

// The model where the kernel names one, else (on Arm) the numbers of its maker and part.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, maker, part;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.rfind("model name", 0) == 0) return value;
    if (line.rfind("CPU implementer", 0) == 0) maker = value;
    if (line.rfind("CPU part", 0) == 0) part = value;
  }
  if (maker.empty()) return "unknown processor";
  static const std::map<std::string, std::string> arm{
      {"0xd0c", "Neoverse N1"}, {"0xd40", "Neoverse V1"}, {"0xd49", "Neoverse N2"}, {"0xd4f", "Neoverse V2"}};
  const auto known = arm.find(part);
  if (maker == "0x41" && known != arm.end()) return "Arm " + known->second;
  return "Arm processor, maker " + maker + ", part " + part;
}

// The largest that the first core knows of.
uint64_t cache_bytes() {
  uint64_t largest = 0;
  for (int index = 0;; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    uint64_t kib = 0;  // "32768K"
    if (!(file >> kib)) return largest;
    largest = std::max(largest, kib << 10);
  }
}

int thread_count(int cores) {
  const char* text = std::getenv("DESCEND_THREADS");
  const int asked = text ? std::atoi(text) : 0;
  return asked > 0 ? asked : cores;
}

// Seconds that `work(begin, end)` over all elements takes, split over threads: the best of several.
double best_seconds(int threads, size_t count, const std::function<void(size_t, size_t)>& work) {
  double best = 1e300;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        const auto part = [&](int k) { return count * static_cast<size_t>(k) / static_cast<size_t>(threads); };
        work(part(t), part(t + 1));
      });
    for (std::thread& thread : pool) thread.join();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

Machine measure() {
  Machine machine;
  machine.processor = processor_name();
  machine.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  machine.cache_bytes = cache_bytes();
  machine.threads = thread_count(machine.cores);

  constexpr size_t kCount = size_t{1} << 25;  // 128 MiB an array: larger than caches
  std::vector<float> a(kCount, 1), b(kCount, 2), c(kCount, 3);
  const double copy = best_seconds(machine.threads, kCount, [&](size_t begin, size_t end) {
    std::memcpy(a.data() + begin, b.data() + begin, (end - begin) * sizeof(float));
  });
  const double triad = best_seconds(machine.threads, kCount, [&](size_t begin, size_t end) {
    float* __restrict to = a.data();
    const float* __restrict x = b.data(), * __restrict y = c.data();
    for (size_t i = begin; i < end; ++i) to[i] = x[i] + 3 * y[i];
  });
  const double array_bytes = static_cast<double>(kCount * sizeof(float));
  machine.copy_bandwidth = 2 * array_bytes / copy;
  machine.triad_bandwidth = 3 * array_bytes / triad;
  return machine;
}

}  // namespace

const Machine& machine() {
  static const Machine& machine = *new Machine(measure());
  return machine;
}

}  // namespace descend::bench
