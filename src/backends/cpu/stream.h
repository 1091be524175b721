// SPDX-License-Identifier: MIT
// Streams of the cpu device: the interface of device.h over a queue.
#pragma once
#include <atomic>
#include <memory>

#include "src/backends/cpu/queue.h"
#include "src/device/device.h"

namespace descend {

class CpuStream final : public Stream {
 public:
  CpuStream() = default;
  ~CpuStream() override;
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  bool try_run(FunctionRef<Status()> work, uint64_t bytes) override;
  Status submit(std::function<Status()> work) override;
  using Stream::call_host;
  Status call_host(std::function<void()> function, bool awaits_others) override;
  Status copy(void* to, const void* from, size_t bytes) override;
  Status fill(void* at, uint8_t byte, size_t bytes) override;
  Status record(Event& event) override;
  Status wait(Event& event, Timeout timeout) override;
  Status reset(Event& event) override;
  void abandon() override { queue().close(); }
  bool idle() const override;
  Status synchronize(Timeout timeout) override { return queue().synchronize(timeout); }
  void stop_on_failure(bool stop) override;
  void on_failure(std::function<void(const Status&)> listener) override;

 private:
  // The queue of this process: in a forked child a new, empty one, because the thread of the parent's is not there.
  Queue& queue() const {
    if (generation_.load(std::memory_order_acquire) != fork_generation()) [[unlikely]]
      renew();
    return *queue_;
  }
  void renew() const;

  mutable std::shared_ptr<Queue> queue_ = Queue::make();  // changed by renew only, before generation_
  mutable std::atomic<uint32_t> generation_{queue_->generation()};
  std::atomic<bool> stop_{false};
  std::function<void(const Status&)> listener_;
};

}  // namespace descend
