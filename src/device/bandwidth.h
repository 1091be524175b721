// SPDX-License-Identifier: MIT
// How fast a device moves memory: what a call's speed is measured against.
#pragma once

namespace descend {

class Device;

// Bytes read and written in a second by copies within the device's memory; the best of several, in about a tenth of a
// second.  0 when there is no memory for it.
double copy_bandwidth(Device& device);

}  // namespace descend
