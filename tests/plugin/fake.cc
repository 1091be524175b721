// SPDX-License-Identifier: MIT
// A plug-in with two devices that do everything at once, on the caller's thread, in memory of the host.  It shows the
// least a backend is, and the tests load it.
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "descend_abi.h"
#include "src/base/text.h"
#include "src/device/device.h"

#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif
#ifndef FAKE_ABI
#define FAKE_ABI descend::kBackendAbi
#endif
#ifndef FAKE_KERNELS
#define FAKE_KERNELS none_
#endif

namespace {

using namespace descend;

class FakeEvent final : public Event {
 public:
  bool recorded() const override { return recorded_; }
  bool reached() const override { return true; }
  bool waits_done() const override { return true; }
  Status synchronize(Timeout) override { return {}; }
  double milliseconds_since(const Event& earlier) const override {
    return std::chrono::duration<double, std::milli>(time_ - static_cast<const FakeEvent&>(earlier).time_).count();
  }
  void set(bool recorded) {
    recorded_ = recorded;
    time_ = std::chrono::steady_clock::now();
  }

 private:
  bool recorded_ = false;
  std::chrono::steady_clock::time_point time_{};
};

class FakeStream final : public Stream {
 public:
  bool try_run(FunctionRef<Status()> work, uint64_t) override { return keep(work()), true; }
  Status submit(std::function<Status()> work) override { return keep(work()), Status{}; }
  Status call_host(std::function<void()> function, bool) override { return function(), Status{}; }
  Status copy(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
    return {};
  }
  Status fill(void* at, uint8_t byte, size_t bytes) override {
    if (bytes > 0) std::memset(at, byte, bytes);
    return {};
  }
  Status record(Event& event) override { return static_cast<FakeEvent&>(event).set(true), Status{}; }
  Status wait(Event&, Timeout) override { return {}; }
  Status reset(Event& event) override { return static_cast<FakeEvent&>(event).set(false), Status{}; }
  bool idle() const override { return true; }
  Status synchronize(Timeout) override { return std::exchange(failure_, Status{}); }
  void stop_on_failure(bool) override {}
  void on_failure(std::function<void(const Status&)> listener) override { listener_ = std::move(listener); }
  void abandon() override {}

 private:
  void keep(Status status) {
    if (!status.ok() && listener_) listener_(status);
    if (failure_.ok()) failure_ = std::move(status);
  }
  std::function<void(const Status&)> listener_;
  Status failure_;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(int index) : index_(index) {}
  std::string description() const override { return cat("device ", index_, " of the fake plug-in"); }
  void* allocate(size_t bytes) override {
    return bytes > (size_t{1} << 40) ? nullptr : std::aligned_alloc(64, (bytes / 64 + 1) * 64);
  }
  void free(void* memory) override { std::free(memory); }
  void* allocate_host(size_t bytes) override { return allocate(bytes); }
  void free_host(void* memory) override { std::free(memory); }
  Status copy(void* to, const void* from, size_t bytes) override { return FakeStream().copy(to, from, bytes); }
  Status fill(void* at, uint8_t byte, size_t bytes) override { return FakeStream().fill(at, byte, bytes); }
  std::unique_ptr<Stream> make_stream(Status*) override { return std::make_unique<FakeStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<FakeEvent>(); }
  MemoryInfo memory() const override { return {1 << 20, 1 << 21}; }

 private:
  const int index_;
};

class FakeBackend final : public Backend {
 public:
  std::string_view name() const override { return FAKE_NAME; }
  int device_count() const override { return 2; }
  Device& device(int index) override { return devices_[index]; }
  const KernelTable& kernels() const override { return FAKE_KERNELS; }

 private:
  FakeDevice devices_[2] = {FakeDevice(0), FakeDevice(1)};
  KernelTable none_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) descend::Backend* descend_backend(uint64_t abi, const char** why) {
  if (abi != FAKE_ABI) {
    static const std::string& text =
        *new std::string(cat("it was built for interface ", uint64_t{FAKE_ABI}, " and the engine has ", abi));
    *why = text.c_str();
    return nullptr;
  }
  static FakeBackend& backend = *new FakeBackend;
  return &backend;
}
