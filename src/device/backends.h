// SPDX-License-Identifier: MIT
// The devices of this process: which backends there are, and which of their devices the environment makes visible.
#pragma once
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/device/device.h"

namespace descend {

struct DeviceEntry {
  Backend* backend = nullptr;
  Device* device = nullptr;
  int index_in_backend = 0;
};

// Chosen by DESCEND_DEVICE and ASCEND_RT_VISIBLE_DEVICES at the first call and again after each reread of the
// environment.  Fails when DESCEND_DEVICE names nothing that is there; the text says what is.  Entries stay valid for
// the life of the process.
struct VisibleDevices {
  std::vector<DeviceEntry> entries;
  Status status;
};
const VisibleDevices& visible_devices();
void choose_devices_again();

// A built-in backend adds itself during static initialisation of the library it is in.
bool add_backend(Backend* backend);

}  // namespace descend
