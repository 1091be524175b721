// SPDX-License-Identifier: MIT
// Memory of the cpu device: blocks, how much there is, and moving bytes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "src/device/device.h"

namespace descend {

// 64-byte aligned and uninitialised; null when there is not enough.
void* allocate_block(size_t bytes);
void free_block(void* block);
// Blocks allocated and not yet freed: how tests see when memory is given back.
int64_t live_blocks();

// What the machine has, or the control group this process is in where that is less.
MemoryInfo machine_memory();

// The ranges may overlap.  Large ones are shared among the cores.
void copy_bytes(void* to, const void* from, size_t bytes);
void fill_bytes(void* at, uint8_t byte, size_t bytes);

}  // namespace descend
