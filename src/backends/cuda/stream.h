// SPDX-License-Identifier: MIT
// Streams of the cuda device: the interface of device.h over a queue.
#pragma once
#include <memory>

#include "src/backends/cuda/queue.h"

namespace descend {

class CudaStream final : public Stream {
 public:
  explicit CudaStream(std::shared_ptr<CudaQueue> queue) : queue_(std::move(queue)) {}
  ~CudaStream() override { queue_->close(); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  bool try_run(FunctionRef<Status()> work, uint64_t) override { return queue_->try_now(work); }
  Status submit(std::function<Status()> work) override { return queue_->push(std::move(work)); }
  using Stream::call_host;
  Status call_host(std::function<void()> function, bool awaits_others) override;
  Status copy(void* to, const void* from, size_t bytes) override;
  Status fill(void* at, uint8_t byte, size_t bytes) override;
  Status record(Event& event) override;
  Status wait(Event& event, Timeout timeout) override;
  Status reset(Event& event) override;
  void abandon() override { queue_->close(); }
  bool idle() const override;
  Status synchronize(Timeout timeout) override { return queue_->synchronize(timeout); }
  void stop_on_failure(bool stop) override { queue_->stop_on_failure(stop); }
  void on_failure(std::function<void(const Status&)> listener) override { queue_->on_failure(std::move(listener)); }

 private:
  Status now_or_later(std::function<Status()> work);

  const std::shared_ptr<CudaQueue> queue_;
};

}  // namespace descend
