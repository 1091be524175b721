// SPDX-License-Identifier: MIT
// Memory comes from CUDA's pool, which neither waits nor makes others wait.  It is given back by a stream of its own
// that waits for what all streams had to do at that moment.
#include "src/backends/cuda/device.h"

#include <initializer_list>

#include "src/backends/cuda/fork.h"
#include "src/backends/cuda/stream.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace descend {
namespace {

constexpr uint64_t kKept = uint64_t{1} << 30;  // bytes of freed memory that the pool keeps for the next allocations

std::vector<CudaDevice*>& all_devices() {  // made before any is used, and never destroyed
  static auto& all = *new std::vector<CudaDevice*>;
  return all;
}

// Whether the code that a card runs has what came with compute capability 9.0 (cmake/cuda.cmake).
constexpr std::initializer_list<int> kWithClusters{DESCEND_WITH_CLUSTERS};  // first and last of each run
bool has_clusters(const cudaDeviceProp& properties) {
  const int capability = 10 * properties.major + properties.minor;
  for (auto run = kWithClusters.begin(); run != kWithClusters.end(); run += 2)
    if (run[0] <= capability && capability <= run[1]) return true;
  return false;
}

}  // namespace

CudaDevice::CudaDevice(int index, const cudaDeviceProp& properties)
    : index_(index),
      name_(properties.name),
      memory_(properties.totalGlobalMem),
      multiprocessors_(properties.multiProcessorCount),
      shared_memory_(static_cast<int>(properties.sharedMemPerBlockOptin)),
      largest_cluster_(has_clusters(properties) ? 8 : 1) {
  all_devices().push_back(this);
}

Status CudaDevice::begin() const {
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  if (!is_ready_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(begin_);
    if (!is_ready_.load(std::memory_order_relaxed)) {
      if (Status s = make_ready(); !s.ok())
        return s.code() == Code::kOutOfMemory ? s : Status{Code::kNoDevice, s.message()};
      is_ready_.store(true, std::memory_order_release);
    }
  }
  use();
  return {};
}

bool CudaDevice::ready() const {
  const Status status = begin();
  if (!status.ok())
    log(LogLevel::kError, cat(status.message(), status.solution().empty() ? "" : ": ", status.solution()));
  return status.ok();
}

// A card that has nothing to give now, because another process has it all, may be asked again.
Status CudaDevice::make_ready() const {
  const auto done = [](cudaError_t code) { return cuda_status(code, "to begin"); };
  if (Status s = done(cudaSetDevice(index_)); !s.ok()) return s;
  if (Status s = done(cudaDeviceGetDefaultMemPool(&pool_, index_)); !s.ok()) return s;
  uint64_t kept = kKept;
  int no = 0;
  cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept);
  // An allocation must not wait for memory that is still in use to be free.
  cudaMemPoolSetAttribute(pool_, cudaMemPoolReuseAllowInternalDependencies, &no);
  for (cudaStream_t* stream : {&allocations_, &frees_, &copies_}) {
    if (*stream != nullptr) continue;
    cudaStream_t made = nullptr;
    if (Status s = done(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking)); !s.ok()) return s;
    *stream = made;
  }
  return {};
}

std::string CudaDevice::description() const {
  return cat(name_, ", ", multiprocessors_, " multiprocessors, ", memory().total >> 30, " GiB");
}

void* CudaDevice::allocate(size_t bytes) {
  if (!ready() || bytes > memory_) return nullptr;  // CUDA is not asked for what the card does not have
  void* memory = nullptr;
  const auto allocate = [&] { return cudaMallocAsync(&memory, bytes == 0 ? 1 : bytes, allocations_); };
  cudaError_t error = allocate();
  if (error == cudaErrorMemoryAllocation) {  // what was freed may still wait for its streams
    cudaGetLastError();
    cudaStreamSynchronize(frees_);
    cudaMemPoolTrimTo(pool_, 0);
    error = allocate();
  }
  if (error == cudaSuccess) error = cudaStreamSynchronize(allocations_);  // from now on any stream may use it
  if (error == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

void CudaDevice::give_back_after(std::span<CudaDevice* const> devices, void* memory,
                                 void (*give_back)(CudaDevice&, void*)) {
  if (memory == nullptr || cuda_is_the_parents() || !ready()) return;
  // Ends, and gives the memory back, when the last queue that has work now has let it go.
  const std::shared_ptr<void> block(memory, [this, give_back](void* all) {
    use();
    give_back(*this, all);
  });
  for (CudaDevice* const device : devices) {
    if (!device->is_ready_.load(std::memory_order_acquire)) continue;
    device->use();
    const std::lock_guard lock(device->mutex_);
    for (CudaQueue* const queue : device->queues_) queue->hold_up(device->frees_, block);
  }
}

void CudaDevice::go_on_where_left() {
  if (!CudaQueue::some_left().load(std::memory_order_relaxed)) [[likely]]
    return;
  CudaQueue::some_left() = false;
  for (CudaDevice* const device : all_devices()) {
    const std::lock_guard lock(device->mutex_);
    for (CudaQueue* const queue : device->queues_) queue->go_on_if_left();
  }
}

void CudaDevice::forget(const CudaQueue& queue, FunctionRef<void()> at_its_end) {
  const std::lock_guard lock(mutex_);
  at_its_end();
  std::erase(queues_, &queue);
}

void CudaDevice::free(void* memory) {
  CudaDevice* const own[] = {this};
  give_back_after(own, memory, [](CudaDevice& device, void* all) { cudaFreeAsync(all, device.frees_); });
}

void* CudaDevice::allocate_host(size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;  // CUDA is not asked for what no machine has
  void* memory = nullptr;
  if (!ready() || cudaHostAlloc(&memory, bytes == 0 ? 1 : bytes, cudaHostAllocPortable) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return memory;
}

void CudaDevice::free_host(void* memory) {
  // Any card may still have to copy it.  CUDA waits for what they have been given before it gives memory back.
  give_back_after(all_devices(), memory, [](CudaDevice&, void* all) { cudaFreeHost(all); });
}

Status CudaDevice::copy(void* to, const void* from, size_t bytes) {
  if (Status s = begin(); !s.ok()) return s;
  if (bytes == 0) return {};
  if (Status s = cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_), "to copy"); !s.ok())
    return s;
  return cuda_status(cudaStreamSynchronize(copies_), "to copy");
}

Status CudaDevice::fill(void* at, uint8_t byte, size_t bytes) {
  if (Status s = begin(); !s.ok()) return s;
  if (bytes == 0) return {};
  if (Status s = cuda_status(cudaMemsetAsync(at, byte, bytes, copies_), "to fill"); !s.ok()) return s;
  return cuda_status(cudaStreamSynchronize(copies_), "to fill");
}

std::unique_ptr<Stream> CudaDevice::make_stream(Status* why) {
  Status status = begin();
  std::shared_ptr<CudaQueue> queue;
  if (status.ok()) status = CudaQueue::make(*this, queue);
  if (!status.ok()) {
    if (why != nullptr) *why = std::move(status);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  queues_.push_back(queue.get());
  return std::make_unique<CudaStream>(std::move(queue));
}

MemoryInfo CudaDevice::memory() const {
  if (!ready()) return {};
  MemoryInfo info;
  cudaMemGetInfo(&info.free, &info.total);
  uint64_t reserved = 0, used = 0;
  cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved);
  cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used);
  if (reserved > used) info.free += reserved - used;  // what the pool keeps is free for this process
  return info;
}

}  // namespace descend
