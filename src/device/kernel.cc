// SPDX-License-Identifier: MIT
#include "src/device/kernel.h"

namespace descend {

KernelTable& cpu_kernels() {
  static KernelTable& table = *new KernelTable;  // never destroyed: libraries may outlive each other at exit
  return table;
}

}  // namespace descend
