// SPDX-License-Identifier: MIT
// Very much memory, of which a test touches a few elements.
#pragma once
#include <sys/mman.h>

#include <string>

#include "tests/harness/must.h"

namespace descend::test {

// Device memory where there is so much of it.  Otherwise memory of the host that is not there until it is touched,
// which is as good for the cpu device and of no use for others.
class SparseMemory {
 public:
  explicit SparseMemory(size_t bytes) : bytes_(bytes) {
    if (aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0) return;
    recent_error();
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mapped_ = true;
    must(data_ == MAP_FAILED ? -1 : 0, "mmap");
  }
  ~SparseMemory() {
    if (mapped_)
      munmap(data_, bytes_);
    else
      aclrtFree(data_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  void* data() const { return data_; }
  // Element `index` of an array of T.
  template <class T> void set(int64_t index, T value) {
    must(aclrtMemcpy(static_cast<T*>(data_) + index, sizeof(T), &value, sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE),
         "aclrtMemcpy");
  }
  template <class T> T get(int64_t index) const {
    T value;
    must(aclrtMemcpy(&value, sizeof(T), static_cast<T*>(data_) + index, sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST),
         "aclrtMemcpy");
    return value;
  }

 private:
  size_t bytes_;
  void* data_ = nullptr;
  bool mapped_ = false;
};

}  // namespace descend::test
