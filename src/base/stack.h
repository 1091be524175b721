// SPDX-License-Identifier: MIT
// How much of its stack the calling thread has left.
#pragma once
#include <cstddef>

namespace descend {

// In bytes; as many as can be where it is not known: on a stack that is not the thread's own, such as a fiber's.
size_t stack_left() noexcept;

}  // namespace descend
