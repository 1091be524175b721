// SPDX-License-Identifier: MIT
// A backend for tests: two devices whose memory has addresses that the host cannot touch.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>

#include "src/device/backends.h"

namespace descend::test {

// Where the bytes behind the addresses that the devices hand out really are.
class Windows {
 public:
  // An address that nothing may touch, for memory that is elsewhere.
  void* open(Device& device, size_t bytes) {
    void* real = device.allocate(bytes);
    if (real == nullptr) return nullptr;
    void* address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::lock_guard lock(mutex_);
    windows_[address] = {static_cast<std::byte*>(real), bytes};
    return address;
  }
  void close(Device& device, void* address) {
    const std::lock_guard lock(mutex_);
    const auto it = windows_.find(address);
    device.free(it->second.real);
    munmap(address, it->second.bytes);
    windows_.erase(it);
  }
  // The real address; an address that is no window's is the host's own.
  void* real(const void* address) const {
    const std::lock_guard lock(mutex_);
    auto it = windows_.upper_bound(const_cast<void*>(address));
    if (it == windows_.begin()) return const_cast<void*>(address);
    --it;
    const auto offset =
        static_cast<size_t>(static_cast<const std::byte*>(address) - static_cast<std::byte*>(it->first));
    return offset < it->second.bytes ? it->second.real + offset : const_cast<void*>(address);
  }

 private:
  struct Window {
    std::byte* real;
    size_t bytes;
  };
  mutable std::mutex mutex_;
  std::map<void*, Window> windows_;
};

// As some devices do, these copy no ranges that overlap.
inline Status apart(const void* to, const void* from, size_t bytes) {
  const auto *a = static_cast<const std::byte*>(to), *b = static_cast<const std::byte*>(from);
  return a < b + bytes && b < a + bytes ? Status(Code::kInternal, "the ranges overlap") : Status();
}

class OpaqueStream final : public Stream {
 public:
  OpaqueStream(std::unique_ptr<Stream> stream, const Windows& windows)
      : stream_(std::move(stream)), windows_(windows) {}
  bool try_run(FunctionRef<Status()> work, uint64_t bytes) override { return stream_->try_run(work, bytes); }
  Status submit(std::function<Status()> work) override { return stream_->submit(std::move(work)); }
  using Stream::call_host;
  Status call_host(std::function<void()> function, bool awaits_others) override {
    return stream_->call_host(std::move(function), awaits_others);
  }
  Status copy(void* to, const void* from, size_t bytes) override {
    if (Status s = apart(to, from, bytes); !s.ok()) return s;
    return stream_->copy(windows_.real(to), windows_.real(from), bytes);
  }
  Status fill(void* at, uint8_t byte, size_t bytes) override { return stream_->fill(windows_.real(at), byte, bytes); }
  Status record(Event& event) override { return stream_->record(event); }
  Status wait(Event& event, Timeout timeout) override { return stream_->wait(event, timeout); }
  Status reset(Event& event) override { return stream_->reset(event); }
  bool idle() const override { return stream_->idle(); }
  Status synchronize(Timeout timeout) override { return stream_->synchronize(timeout); }
  void stop_on_failure(bool stop) override { stream_->stop_on_failure(stop); }
  void on_failure(std::function<void(const Status&)> listener) override { stream_->on_failure(std::move(listener)); }
  void abandon() override { stream_->abandon(); }

 private:
  std::unique_ptr<Stream> stream_;
  const Windows& windows_;
};

class OpaqueDevice final : public Device {
 public:
  explicit OpaqueDevice(Device& device) : device_(device) {}
  std::string description() const override { return "opaque"; }
  void* allocate(size_t bytes) override { return windows_.open(device_, bytes); }
  void free(void* memory) override { windows_.close(device_, memory); }
  void* allocate_host(size_t bytes) override { return device_.allocate_host(bytes); }
  void free_host(void* memory) override { device_.free_host(memory); }
  Status copy(void* to, const void* from, size_t bytes) override {
    if (Status s = apart(to, from, bytes); !s.ok()) return s;
    return device_.copy(windows_.real(to), windows_.real(from), bytes);
  }
  Status fill(void* at, uint8_t byte, size_t bytes) override { return device_.fill(windows_.real(at), byte, bytes); }
  std::unique_ptr<Stream> make_stream(Status*) override {
    return std::make_unique<OpaqueStream>(device_.make_stream(), windows_);
  }
  std::unique_ptr<Event> make_event() override { return device_.make_event(); }
  MemoryInfo memory() const override { return device_.memory(); }

 private:
  Device& device_;
  Windows windows_;
};

// DESCEND_DEVICE=opaque.
class OpaqueBackend final : public Backend {
 public:
  explicit OpaqueBackend(Backend& cpu)
      : cpu_(cpu), devices_{OpaqueDevice(cpu.device(0)), OpaqueDevice(cpu.device(0))} {}
  std::string_view name() const override { return "opaque"; }
  int device_count() const override { return 2; }
  Device& device(int index) override { return devices_[static_cast<size_t>(index)]; }
  const KernelTable& kernels() const override { return cpu_.kernels(); }

 private:
  Backend& cpu_;
  std::array<OpaqueDevice, 2> devices_;
};

}  // namespace descend::test
