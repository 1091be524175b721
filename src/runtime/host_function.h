// SPDX-License-Identifier: MIT
// Calling a function of the program.
#pragma once
#include <cstdint>

namespace descend {

// Calls it and logs an exception instead of passing it on.  `stream_id` is the stream that waits for the function, or
// 0.
void call_host_function(void (*function)(void*), void* argument, uint32_t stream_id);

}  // namespace descend
