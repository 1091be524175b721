// SPDX-License-Identifier: MIT
// The C library's functions that hand out memory, in front of its own: they note what is asked for.
#include "tests/bits/allocations.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<bool> watched{false};
std::atomic<size_t> largest{0};

size_t note(size_t bytes) {
  if (watched.load(std::memory_order_relaxed))
    for (size_t before = largest; before < bytes && !largest.compare_exchange_weak(before, bytes);) continue;
  return bytes;
}

}  // namespace

namespace descend::test {

LargestAllocation::LargestAllocation() {
  largest = 0;
  watched = true;
}
LargestAllocation::~LargestAllocation() { watched = false; }
size_t LargestAllocation::bytes() const { return largest; }

}  // namespace descend::test

extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) { return __libc_malloc(note(bytes)); }
void* calloc(size_t count, size_t bytes) {
  note(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) { return __libc_realloc(old, note(bytes)); }
void* memalign(size_t alignment, size_t bytes) { return __libc_memalign(alignment, note(bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return __libc_memalign(alignment, note(bytes)); }
int posix_memalign(void** to, size_t alignment, size_t bytes) {
  *to = __libc_memalign(alignment, note(bytes));
  return *to ? 0 : ENOMEM;
}
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  note(bytes);
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}

}  // extern "C"
