// SPDX-License-Identifier: MIT
// The cpu device: memory of the host and streams of threads.
#pragma once
#include <string>

#include "src/device/device.h"

namespace descend {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::string kind) : kind_(std::move(kind)) {}

  std::string description() const override;
  void* allocate(size_t bytes) override;
  void free(void* memory) override;
  void* allocate_host(size_t bytes) override { return allocate(bytes); }
  void free_host(void* memory) override { free(memory); }
  Status copy(void* to, const void* from, size_t bytes) override;
  Status fill(void* at, uint8_t byte, size_t bytes) override;
  std::unique_ptr<Stream> make_stream(Status* why = nullptr) override;
  std::unique_ptr<Event> make_event() override;
  MemoryInfo memory() const override;
  bool memory_is_the_hosts() const override { return true; }

 private:
  const std::string kind_;
};

}  // namespace descend
