// SPDX-License-Identifier: MIT
// Backends in libraries of their own: libdescend_NAME.so, opened when DESCEND_DEVICE asks for NAME.
#pragma once
#include <string>
#include <string_view>

#include "src/device/device.h"

namespace descend {

struct LoadedPlugin {
  Backend* backend = nullptr;
  std::string why_not;  // one sentence when there is no backend
};

// Looks for libdescend_NAME.so beside the engine, then in the folders of DESCEND_BACKEND_PATH, and takes the first that
// agrees to work with this engine.  A plug-in that was loaded once is not loaded again and never unloaded.  Calls must
// not overlap.
LoadedPlugin load_plugin(std::string_view name);

}  // namespace descend
