// SPDX-License-Identifier: MIT
// A device of the tests whose memory the host cannot reach, as a card's.
#pragma once
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/backends/cpu/device.h"
#include "src/loops/inspect_kernels.h"

namespace descend::test {

// A device whose memory the host cannot even read: whoever tries to ends the test.  The bytes are behind a hill.
class FarDevice final : public Device {
 public:
  std::string description() const override { return "far away"; }
  // What was freed last comes again first.
  void* allocate(size_t) override {
    if (!free_.empty()) {
      void* const again = free_.back();
      free_.pop_back();
      return again;
    }
    void* const at = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED || mprotect(at, kBytes, PROT_NONE) != 0 ? nullptr : at;
  }
  void free(void* memory) override { free_.push_back(memory); }
  void* allocate_host(size_t bytes) override { return std::malloc(bytes); }
  void free_host(void* memory) override { std::free(memory); }
  Status copy(void* to, const void* from, size_t bytes) override {
    ++copies;
    std::memcpy(to, behind(from), bytes);
    return {};
  }
  Status fill(void* at, uint8_t byte, size_t bytes) override {
    std::memset(behind(at), byte, bytes);
    return {};
  }
  std::unique_ptr<Stream> make_stream(Status*) override { return queues_.make_stream(); }
  std::unique_ptr<Event> make_event() override { return nullptr; }
  MemoryInfo memory() const override { return {}; }

  template <class Address> static Address behind(Address at) {
    return reinterpret_cast<Address>(reinterpret_cast<uintptr_t>(at) + kBytes);
  }
  int copies = 0;

 private:
  static constexpr size_t kBytes = 1 << 16;
  std::vector<void*> free_;
  CpuDevice queues_{"cpu"};  // whose threads launch its kernels
};

// Its kernel for looking, for what the tests look at.
inline Status inspect(const InspectArgs& a, void* const* data, Launch&) {
  auto& seen = *static_cast<Inspected*>(data[1]);
  seen.ran = 1;
  for (int64_t i = 0; i < a.points.points(); ++i) {
    const int64_t at = a.points.rank == 0 ? 0 : i * a.points.stride[0][0];
    if (a.points.dtype[0] == DataType::kFloat) {
      seen.not_finite |= !std::isfinite(static_cast<const float*>(FarDevice::behind(data[0]))[at]);
      continue;
    }
    const int64_t value = static_cast<const int64_t*>(FarDevice::behind(data[0]))[at];
    const bool counts = value != a.ignored, inside = value >= 0 && value < a.classes;
    seen.has_class |= counts && inside;
    seen.has_other |= counts && !inside;
  }
  return {};
}

class FarBackend final : public Backend {
 public:
  explicit FarBackend(bool can_look) {
    if (can_look) kernels_.add(kInspect, inspect);
  }
  std::string_view name() const override { return "far"; }
  int device_count() const override { return 1; }
  FarDevice& device(int) override { return device_; }
  const KernelTable& kernels() const override { return kernels_; }

 private:
  FarDevice device_;
  KernelTable kernels_;
};

}  // namespace descend::test
