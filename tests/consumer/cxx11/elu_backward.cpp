// SPDX-License-Identifier: MIT
// A C++11 program that holds every handle in a smart pointer: EluBackward on four elements, then a call that must fail
// with a text.
#include <cstdio>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_elu_backward.h"

namespace {

int failures = 0;

void check(const char* what, int code) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, code, text != nullptr ? text : "no text");
  ++failures;
}

struct Destroy {
  void operator()(aclTensor* tensor) const { check("aclDestroyTensor", aclDestroyTensor(tensor)); }
  void operator()(aclScalar* scalar) const { check("aclDestroyScalar", aclDestroyScalar(scalar)); }
  void operator()(void* memory) const { check("aclrtFree", aclrtFree(memory)); }
};
using Memory = std::unique_ptr<void, Destroy>;
using Tensor = std::unique_ptr<aclTensor, Destroy>;
using Scalar = std::unique_ptr<aclScalar, Destroy>;

Memory on_device(const std::vector<float>& values) {
  const size_t bytes = values.size() * sizeof(float);
  void* memory = nullptr;
  check("aclrtMalloc", aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  check("aclrtMemcpy", aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  return Memory(memory);
}

Tensor tensor(const Memory& memory, int64_t count) {
  return Tensor(aclCreateTensor(&count, 1, aclDataType::ACL_FLOAT, nullptr, 0, aclFormat::ACL_FORMAT_ND, &count, 1,
                                memory.get()));
}

Scalar scalar(float value) { return Scalar(aclCreateScalar(&value, aclDataType::ACL_FLOAT)); }

void elu_backward(aclrtStream stream) {
  const std::vector<float> values = {-2, -1, 0, 1};
  const int64_t count = static_cast<int64_t>(values.size());
  const Memory gradOutputData = on_device(values), selfOrResultData = on_device(values),
               gradInputData = on_device(std::vector<float>(values.size()));
  const Tensor gradOutput = tensor(gradOutputData, count), selfOrResult = tensor(selfOrResultData, count),
               gradInput = tensor(gradInputData, count), tooShort = tensor(selfOrResultData, count - 1);
  const Scalar alpha = scalar(1), scale = scalar(1), inputScale = scalar(1);

  uint64_t workspaceSize = 1;
  aclOpExecutor* executor = nullptr;
  check("aclnnEluBackwardGetWorkspaceSize",
        aclnnEluBackwardGetWorkspaceSize(gradOutput.get(), alpha.get(), scale.get(), inputScale.get(), true,
                                         selfOrResult.get(), gradInput.get(), &workspaceSize, &executor));
  check("aclnnEluBackward", aclnnEluBackward(nullptr, workspaceSize, executor, stream));
  check("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
  std::vector<float> result(values.size());
  const size_t bytes = result.size() * sizeof(float);
  check("aclrtMemcpy", aclrtMemcpy(result.data(), bytes, gradInputData.get(), bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  std::printf("result: %g %g %g %g\n", result[0], result[1], result[2], result[3]);
  std::printf("workspace: %llu\n", static_cast<unsigned long long>(workspaceSize));

  const aclnnStatus status =
      aclnnEluBackwardGetWorkspaceSize(gradOutput.get(), alpha.get(), scale.get(), inputScale.get(), true,
                                       tooShort.get(), gradInput.get(), &workspaceSize, &executor);
  const char* text = aclGetRecentErrMsg();
  std::printf("status: %d\ntext: %s\n", static_cast<int>(status), text != nullptr ? text : "none");
  std::printf("text again: %s\n", aclGetRecentErrMsg() != nullptr ? "some" : "none");
}

}  // namespace

int main() {
  aclrtStream stream = nullptr;
  check("aclInit", aclInit(nullptr));
  check("aclrtSetDevice", aclrtSetDevice(0));
  check("aclrtCreateStream", aclrtCreateStream(&stream));
  elu_backward(stream);
  check("aclrtDestroyStream", aclrtDestroyStream(stream));
  check("aclrtResetDevice", aclrtResetDevice(0));
  check("aclFinalize", aclFinalize());
  std::printf("failures: %d\n", failures);
  return failures == 0 ? 0 : 1;
}
