// SPDX-License-Identifier: MIT
// stack KIBIBYTES: a thread with so small a stack calls an operator, of transposed matrices, whose kernel has large
// tiles.
#include <acl/acl.h>
#include <aclnnop/aclnn_cross_entropy_loss.h>
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "check.h"

namespace {

constexpr int64_t kSide = 64, kOne = 1;

aclTensor* zeros(aclDataType dtype, int rank, const int64_t* sizes, const int64_t* strides, void** memory) {
  constexpr size_t kBytes = kSide * kSide * sizeof(int64_t);
  check(aclrtMalloc(memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  check(aclrtMemset(*memory, kBytes, 0, kBytes), "memset");
  return aclCreateTensor(sizes, static_cast<uint64_t>(rank), dtype, strides, 0, ACL_FORMAT_ND, sizes,
                         static_cast<uint64_t>(rank), *memory);
}

void* call(void*) {
  check(aclrtSetDevice(0), "set");
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "stream");
  const int64_t sizes[] = {kSide, kSide}, transposed[] = {1, kSide};
  void* memory[6];
  aclTensor* const tensors[] = {
      zeros(ACL_FLOAT, 2, sizes, transposed, &memory[0]), zeros(ACL_INT64, 1, sizes, &kOne, &memory[1]),
      zeros(ACL_FLOAT, 0, sizes, &kOne, &memory[2]),      zeros(ACL_FLOAT, 2, sizes, transposed, &memory[3]),
      zeros(ACL_FLOAT, 1, &kOne, &kOne, &memory[4]),      zeros(ACL_FLOAT, 1, &kOne, &kOne, &memory[5])};
  char mean[] = "mean";
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  check(aclnnCrossEntropyLossGetWorkspaceSize(tensors[0], tensors[1], nullptr, mean, -100, 0.5, 0, false, tensors[2],
                                              tensors[3], tensors[4], tensors[5], &bytes, &executor),
        "phase one");
  check(aclnnCrossEntropyLoss(nullptr, bytes, executor, stream), "phase two");
  check(aclrtSynchronizeStream(stream), "synchronise");
  float loss = 0;
  check(aclrtMemcpy(&loss, sizeof(loss), memory[2], sizeof(loss), ACL_MEMCPY_DEVICE_TO_HOST), "copy");
  std::printf("the loss is %g\n", loss);
  for (aclTensor* const tensor : tensors) aclDestroyTensor(tensor);
  for (void* const each : memory) check(aclrtFree(each), "free");
  check(aclrtDestroyStream(stream), "destroy stream");
  return nullptr;
}

}  // namespace

int main(int, char** arguments) {
  check(aclInit(nullptr), "init");
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, static_cast<size_t>(std::atoi(arguments[1])) << 10);
  pthread_t thread;
  if (pthread_create(&thread, &small, call, nullptr) != 0) return 2;
  pthread_join(thread, nullptr);
  return aclFinalize();
}
