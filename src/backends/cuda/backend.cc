// SPDX-License-Identifier: MIT
// The plug-in "cuda": every NVIDIA GPU that its kernels were compiled for.
#include <memory>
#include <vector>

#include "descend_abi.h"
#include "src/backends/cuda/device.h"
#include "src/backends/cuda/fork.h"
#include "src/backends/cuda/launch.h"
#include "src/base/text.h"

namespace descend {

KernelTable& cuda_kernels() {
  static KernelTable& table = *new KernelTable;
  return table;
}

namespace {

#ifndef DESCEND_EMULATED
constexpr std::string_view kName = "cuda";
#else
constexpr std::string_view kName = "emulated";  // the tests', without a card
#endif

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::vector<std::unique_ptr<CudaDevice>> devices) : devices_(std::move(devices)) {}
  std::string_view name() const override { return kName; }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  Device& device(int index) override { return *devices_[static_cast<size_t>(index)]; }
  const KernelTable& kernels() const override { return cuda_kernels(); }

 private:
  const std::vector<std::unique_ptr<CudaDevice>> devices_;
};

std::string version(int number) { return cat(number / 1000, ".", number % 1000 / 10); }

// Why there is nothing to use, or the backend.
struct Found {
  Backend* backend = nullptr;
  std::string why_not;
};
Found look() {
  int count = 0, driver = 0, runtime = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) return {nullptr, "there is no NVIDIA driver"};
    if (error == cudaErrorInsufficientDriver)
      return {nullptr, cat("the NVIDIA driver is for CUDA ", version(driver), " and too old for ", version(runtime))};
    return {nullptr, cat("CUDA says: ", cudaGetErrorString(error))};
  }
  cuda_is_used();
  constexpr int kOldest = 8;  // compute capability 8.0
  std::vector<std::unique_ptr<CudaDevice>> devices;
  std::string too_old;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    if (properties.major >= kOldest)
      devices.push_back(std::make_unique<CudaDevice>(i, properties));
    else
      too_old = cat(": ", properties.name, " is older than compute capability ", kOldest, ".0");
  }
  if (devices.empty()) return {nullptr, cat("there is no GPU it can use", too_old)};
  return {new CudaBackend(std::move(devices)), {}};
}

}  // namespace
}  // namespace descend

extern "C" __attribute__((visibility("default"))) descend::Backend* descend_backend(uint64_t abi, const char** why) {
  using namespace descend;
  if (abi != kBackendAbi) {
    *why = "it was built with another version of the engine";
    return nullptr;
  }
  static const Found& found = *new Found(look());
  *why = found.why_not.c_str();
  return found.backend;
}
