// SPDX-License-Identifier: MIT
// A C99 program of the usual shape: EluBackward on four elements, then a call that must fail with a text.
#include <stdio.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_elu_backward.h"

enum { kCount = 4 };

static int failures = 0;

static void check(const char* what, int code) {
  if (code != ACL_SUCCESS) {
    const char* text = aclGetRecentErrMsg();
    printf("%s failed with %d: %s\n", what, code, text != NULL ? text : "no text");
    failures++;
  }
}

static aclTensor* tensor(void* data, int64_t count) {
  return aclCreateTensor(&count, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, &count, 1, data);
}

int main(void) {
  const float host[kCount] = {-2, -1, 0, 1};
  float result[kCount] = {0, 0, 0, 0};
  const size_t bytes = sizeof host;
  aclrtStream stream = NULL;
  void* gradOutputData = NULL;
  void* selfOrResultData = NULL;
  void* gradInputData = NULL;

  check("aclInit", aclInit(NULL));
  check("aclrtSetDevice", aclrtSetDevice(0));
  check("aclrtCreateStream", aclrtCreateStream(&stream));
  check("aclrtMalloc", aclrtMalloc(&gradOutputData, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  check("aclrtMalloc", aclrtMalloc(&selfOrResultData, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  check("aclrtMalloc", aclrtMalloc(&gradInputData, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  check("aclrtMemcpy", aclrtMemcpy(gradOutputData, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  check("aclrtMemcpy", aclrtMemcpy(selfOrResultData, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  aclScalar* scale = aclCreateScalar(&one, ACL_FLOAT);
  aclScalar* inputScale = aclCreateScalar(&one, ACL_FLOAT);
  aclTensor* gradOutput = tensor(gradOutputData, kCount);
  aclTensor* selfOrResult = tensor(selfOrResultData, kCount);
  aclTensor* gradInput = tensor(gradInputData, kCount);

  uint64_t workspaceSize = 1;
  aclOpExecutor* executor = NULL;
  check("aclnnEluBackwardGetWorkspaceSize",
        aclnnEluBackwardGetWorkspaceSize(gradOutput, alpha, scale, inputScale, true, selfOrResult, gradInput,
                                         &workspaceSize, &executor));
  check("aclnnEluBackward", aclnnEluBackward(NULL, workspaceSize, executor, stream));
  check("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
  check("aclrtMemcpy", aclrtMemcpy(result, bytes, gradInputData, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  printf("result: %g %g %g %g\n", result[0], result[1], result[2], result[3]);
  printf("workspace: %llu\n", (unsigned long long)workspaceSize);

  // Three elements where there must be four.
  aclTensor* tooShort = tensor(selfOrResultData, kCount - 1);
  const aclnnStatus status = aclnnEluBackwardGetWorkspaceSize(gradOutput, alpha, scale, inputScale, true, tooShort,
                                                              gradInput, &workspaceSize, &executor);
  const char* text = aclGetRecentErrMsg();
  printf("status: %d\ntext: %s\n", (int)status, text != NULL ? text : "none");
  printf("text again: %s\n", aclGetRecentErrMsg() != NULL ? "some" : "none");

  check("aclDestroyTensor", aclDestroyTensor(tooShort));
  check("aclDestroyTensor", aclDestroyTensor(gradOutput));
  check("aclDestroyTensor", aclDestroyTensor(selfOrResult));
  check("aclDestroyTensor", aclDestroyTensor(gradInput));
  check("aclDestroyScalar", aclDestroyScalar(alpha));
  check("aclDestroyScalar", aclDestroyScalar(scale));
  check("aclDestroyScalar", aclDestroyScalar(inputScale));
  check("aclrtFree", aclrtFree(gradOutputData));
  check("aclrtFree", aclrtFree(selfOrResultData));
  check("aclrtFree", aclrtFree(gradInputData));
  check("aclrtDestroyStream", aclrtDestroyStream(stream));
  check("aclrtResetDevice", aclrtResetDevice(0));
  check("aclFinalize", aclFinalize());
  printf("failures: %d\n", failures);
  return failures == 0 ? 0 : 1;
}
