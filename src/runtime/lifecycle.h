// SPDX-License-Identifier: MIT
// The beginning and the end of the runtime.
#pragma once
#include <cstdint>

#include "src/base/status.h"

namespace descend {

Status initialize(const char* config_path);
// Ends everything, whatever the number of references.
Status finalize();
// Gives one reference back; the last ends everything.  *left, if not null, is how many remain.
Status finalize_reference(uint64_t* left);

}  // namespace descend
