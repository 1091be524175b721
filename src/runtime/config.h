// SPDX-License-Identifier: MIT
// The file that aclInit and aclnnInit are given.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "src/base/status.h"

namespace descend {

struct Config {
  bool process_wide_errors = false;       // err_msg_mode "1"
  std::optional<int32_t> default_device;  // defaultDevice.default_device
  std::optional<bool> debug_kernels;      // op_debug_config.enable_debug_kernel "on" or "off"
};

struct ReadConfig {
  Config config;
  Status status;
};
// An empty path means the defaults.  Keys that are not known are left alone: they are meant for somebody else.
ReadConfig read_config(const std::string& path);

}  // namespace descend
