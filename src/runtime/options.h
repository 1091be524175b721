// SPDX-License-Identifier: MIT
// aclSysParamOpt: options of the process and of a context.
#pragma once
#include <cstdint>

#include "src/base/status.h"

namespace descend {

Status set_context_option(int32_t option, int64_t value);
Status get_context_option(int32_t option, int64_t* value);
Status set_process_option(int32_t option, int64_t value);
Status get_process_option(int32_t option, int64_t* value);

}  // namespace descend
