// SPDX-License-Identifier: MIT
// The backend "reference": the cpu device without kernels; each operator runs its reference, in order and on one
// thread.  For finding out whether a program or a kernel is wrong.
#include "src/backends/cpu/device.h"
#include "src/device/backends.h"

namespace descend {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  int device_count() const override { return 1; }
  Device& device(int) override {
    static CpuDevice& device = *new CpuDevice("the references of the operators");
    return device;
  }
  const KernelTable& kernels() const override {
    static const KernelTable& none = *new KernelTable;
    return none;
  }
  bool runs_reference() const override { return true; }
};

const bool added = add_backend(new ReferenceBackend);

}  // namespace
}  // namespace descend
