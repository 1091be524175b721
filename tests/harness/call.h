// SPDX-License-Identifier: MIT
// Running an operator from a test, through the C API.
#pragma once
#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "tests/harness/must.h"

namespace descend::test {

// The device, set for the thread as long as this lives.
class OnDevice {
 public:
  OnDevice() { must(aclrtSetDevice(0), "aclrtSetDevice"); }
  ~OnDevice() { must(aclrtResetDevice(0), "aclrtResetDevice"); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Both phases on the default stream, then a synchronisation.  Answers the first status that is not 0.
template <class PhaseOne, class... Arguments>
aclnnStatus call(PhaseOne phase_one, PhaseTwo phase_two, uint64_t* workspace_asked, const Arguments&... arguments) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  if (const aclnnStatus s = phase_one(arguments..., &size, &executor)) return s;
  if (workspace_asked) *workspace_asked = size;
  void* workspace = nullptr;
  if (size > 0) must(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  aclnnStatus status = phase_two(workspace, size, executor, nullptr);
  if (status == 0) status = aclrtSynchronizeStream(nullptr);
  if (workspace) must(aclrtFree(workspace), "aclrtFree");
  return status;
}

}  // namespace descend::test
