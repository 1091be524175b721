// SPDX-License-Identifier: MIT
// A program that links to none of the libraries: it opens libopapi.so and looks every function up on that one handle,
// those of the runtime and of the objects too, as clients that are built without the libraries do.
#include <dlfcn.h>

#include <cstdio>

#include "acl/acl.h"
#include "aclnnop/aclnn_elu_backward.h"

namespace {

void* library = nullptr;
int failures = 0;

template <class Function> Function* find(const char* name) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    std::printf("%s\n", dlerror());
    ++failures;
  }
  return reinterpret_cast<Function*>(address);
}

void check(const char* what, int code) {
  if (code == 0) return;
  std::printf("%s failed with %d\n", what, code);
  ++failures;
}

}  // namespace

#define FIND(function) auto* const call_##function = find<decltype(function)>(#function)

int main() {
  library = dlopen("libopapi.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  FIND(aclInit);
  FIND(aclFinalize);
  FIND(aclGetRecentErrMsg);
  FIND(aclrtSetDevice);
  FIND(aclrtResetDevice);
  FIND(aclrtCreateStream);
  FIND(aclrtDestroyStream);
  FIND(aclrtSynchronizeStream);
  FIND(aclrtMalloc);
  FIND(aclrtFree);
  FIND(aclrtMemcpy);
  FIND(aclCreateTensor);
  FIND(aclDestroyTensor);
  FIND(aclCreateScalar);
  FIND(aclDestroyScalar);
  FIND(aclnnEluBackwardGetWorkspaceSize);
  FIND(aclnnEluBackward);
  // Probed by some clients, in no header.
  auto* const InitHugeMemThreadLocal = find<int(void*, bool)>("InitHugeMemThreadLocal");
  auto* const UnInitHugeMemThreadLocal = find<void(void*, bool)>("UnInitHugeMemThreadLocal");
  auto* const ReleaseHugeMem = find<void(void*, bool)>("ReleaseHugeMem");
  if (failures != 0) return 1;

  float values[4] = {-2, -1, 0, 1}, result[4] = {}, one = 1;
  void* data[3] = {};
  aclTensor* tensors[3] = {};
  aclrtStream stream = nullptr;
  check("aclInit", call_aclInit(nullptr));
  check("aclrtSetDevice", call_aclrtSetDevice(0));
  check("aclrtCreateStream", call_aclrtCreateStream(&stream));
  check("InitHugeMemThreadLocal", InitHugeMemThreadLocal(nullptr, false));
  const int64_t count = 4;
  for (int i = 0; i < 3; ++i) {
    check("aclrtMalloc", call_aclrtMalloc(&data[i], sizeof values, ACL_MEM_MALLOC_NORMAL_ONLY));
    check("aclrtMemcpy", call_aclrtMemcpy(data[i], sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE));
    tensors[i] = call_aclCreateTensor(&count, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &count, 1, data[i]);
  }
  aclScalar* const scalar = call_aclCreateScalar(&one, ACL_FLOAT);
  uint64_t workspaceSize = 1;
  aclOpExecutor* executor = nullptr;
  check("aclnnEluBackwardGetWorkspaceSize",
        call_aclnnEluBackwardGetWorkspaceSize(tensors[0], scalar, scalar, scalar, true, tensors[1], tensors[2],
                                              &workspaceSize, &executor));
  check("aclnnEluBackward", call_aclnnEluBackward(nullptr, workspaceSize, executor, stream));
  check("aclrtSynchronizeStream", call_aclrtSynchronizeStream(stream));
  check("aclrtMemcpy", call_aclrtMemcpy(result, sizeof result, data[2], sizeof result, ACL_MEMCPY_DEVICE_TO_HOST));
  std::printf("result: %g %g %g %g\n", result[0], result[1], result[2], result[3]);
  std::printf("workspace: %llu\n", static_cast<unsigned long long>(workspaceSize));
  std::printf("status: %d\n",
              static_cast<int>(call_aclnnEluBackwardGetWorkspaceSize(nullptr, scalar, scalar, scalar, true, tensors[1],
                                                                     tensors[2], &workspaceSize, &executor)));
  const char* text = call_aclGetRecentErrMsg();
  std::printf("text: %s\n", text != nullptr ? text : "none");

  ReleaseHugeMem(nullptr, false);
  UnInitHugeMemThreadLocal(nullptr, false);
  check("aclDestroyScalar", call_aclDestroyScalar(scalar));
  for (int i = 0; i < 3; ++i) {
    check("aclDestroyTensor", call_aclDestroyTensor(tensors[i]));
    check("aclrtFree", call_aclrtFree(data[i]));
  }
  check("aclrtDestroyStream", call_aclrtDestroyStream(stream));
  check("aclrtResetDevice", call_aclrtResetDevice(0));
  check("aclFinalize", call_aclFinalize());
  std::printf("failures: %d\n", failures);
  return failures == 0 ? 0 : 1;
}
