// SPDX-License-Identifier: MIT
// One NVIDIA GPU: its memory and its streams.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/backends/cuda/queue.h"
#include "src/device/device.h"

namespace descend {

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, const cudaDeviceProp& properties);

  std::string description() const override;
  void* allocate(size_t bytes) override;
  void free(void* memory) override;
  void* allocate_host(size_t bytes) override;
  void free_host(void* memory) override;
  Status copy(void* to, const void* from, size_t bytes) override;
  Status fill(void* at, uint8_t byte, size_t bytes) override;
  std::unique_ptr<Stream> make_stream(Status* why = nullptr) override;
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(); }
  MemoryInfo memory() const override;

  // CUDA's calls of this thread are for this device from now on.
  void use() const {
    if (cudaSetDevice(index_) != cudaSuccess) cudaGetLastError();  // the calls that follow say so
  }
  int index() const { return index_; }
  int multiprocessors() const { return multiprocessors_; }
  int shared_memory() const { return shared_memory_; }
  int largest_cluster() const { return largest_cluster_; }
  cudaStream_t frees() const { return frees_; }  // what waits here is given back
  // For who looks whether something is done, and finds that it is not: it may be behind tasks of any queue for which no
  // thread could be started.
  static void go_on_where_left();
  // Calls the function and forgets the queue, with no memory given back in between.
  void forget(const CudaQueue& queue, FunctionRef<void()> at_its_end);

 private:
  Status begin() const;  // makes the streams and the pool when first called: until then the card is not touched
  Status make_ready() const;
  bool ready() const;  // begins, for callers who cannot say why it failed
  // Gives memory of this device back when all streams of those have done what they have to do now.
  void give_back_after(std::span<CudaDevice* const> devices, void* memory, void (*give_back)(CudaDevice&, void*));

  const int index_;
  const std::string name_;
  const size_t memory_;
  const int multiprocessors_, shared_memory_, largest_cluster_;
  mutable std::mutex begin_;
  mutable std::atomic<bool> is_ready_{false};
  mutable cudaStream_t allocations_ = nullptr, frees_ = nullptr, copies_ = nullptr;
  mutable cudaMemPool_t pool_ = nullptr;

  std::mutex mutex_;                // taken before that of a queue
  std::vector<CudaQueue*> queues_;  // until their end, when what runs there is waited for
};

}  // namespace descend
