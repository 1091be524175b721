// SPDX-License-Identifier: MIT
// Running an operator from a test, through the C API.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

namespace descend::test {

// The device, set for the thread as long as this lives.
class OnDevice {
 public:
  OnDevice() { EXPECT_EQ(aclrtSetDevice(0), 0); }
  ~OnDevice() { EXPECT_EQ(aclrtResetDevice(0), 0); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

// The text of the last failure in this thread.
inline std::string recent_error() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Both phases on the default stream, then a synchronisation.  Answers the first status that is not 0.
template <class PhaseOne, class... Arguments>
aclnnStatus call(PhaseOne phase_one, PhaseTwo phase_two, uint64_t* workspace_asked, const Arguments&... arguments) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  if (const aclnnStatus s = phase_one(arguments..., &size, &executor)) return s;
  if (workspace_asked) *workspace_asked = size;
  void* workspace = nullptr;
  if (size > 0) {
    EXPECT_EQ(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  }
  aclnnStatus status = phase_two(workspace, size, executor, nullptr);
  if (status == 0) status = aclrtSynchronizeStream(nullptr);
  if (workspace) {
    EXPECT_EQ(aclrtFree(workspace), 0);
  }
  return status;
}

}  // namespace descend::test
