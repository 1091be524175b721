// SPDX-License-Identifier: MIT
// The backend "cpu": one device, the kernels that libopapi brings.
#include "src/backends/cpu/device.h"
#include "src/backends/cpu/targets.h"
#include "src/device/backends.h"

namespace descend {
namespace {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  int device_count() const override { return 1; }
  // Asked for whenever devices are chosen, that is, after the environment was read.
  Device& device(int) override {
    choose_cpu_target();
    static CpuDevice& device = *new CpuDevice("the CPU of this machine");
    return device;
  }
  const KernelTable& kernels() const override { return cpu_kernels(); }
};

const bool added = add_backend(new CpuBackend);

}  // namespace
}  // namespace descend
