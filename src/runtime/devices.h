// SPDX-License-Identifier: MIT
// Devices: counting their users, waiting for them, and what is set per device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/runtime/context.h"

namespace descend {

Status set_device(int32_t device_id);
Status reset_device(int32_t device_id, bool whatever_the_count);
Status get_device(int32_t* device_id);
Status device_count(uint32_t* count);
Status synchronize_device();

// The default context of a device, made if there is none, without counting a user; null when it cannot be made.
std::shared_ptr<Context> default_context(int32_t device_id);

// The overflow mode is remembered for each device.  Arithmetic is always with infinities and NaN.
Status set_saturation(int32_t mode);
Status get_saturation(int32_t* mode);

Status can_access_peer(int32_t* can_access, int32_t device_id, int32_t peer_id);
Status enable_peer(int32_t peer_id, uint32_t flags);
Status disable_peer(int32_t peer_id);

}  // namespace descend
