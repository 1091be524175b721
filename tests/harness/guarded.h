// SPDX-License-Identifier: MIT
// Memory in which whoever reads or writes too far is stopped.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include "tests/harness/must.h"

namespace descend::test {

// Of the host; the page before it and the page behind it may not be touched.  The last byte is `gap` before that.
class GuardedMemory {
 public:
  GuardedMemory(size_t bytes, size_t gap) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t between = (bytes + gap + page - 1) / page * page;
    all_ = between + 2 * page;
    pages_ = static_cast<char*>(mmap(nullptr, all_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    must(pages_ == MAP_FAILED ? -1 : 0, "mmap");
    must(between == 0 ? 0 : mprotect(pages_ + page, between, PROT_READ | PROT_WRITE), "mprotect");
    data_ = pages_ + page + between - gap - bytes;
  }
  ~GuardedMemory() { munmap(pages_, all_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* data() const { return data_; }

 private:
  char *pages_, *data_;
  size_t all_;
};

}  // namespace descend::test
