/* SPDX-License-Identifier: MIT */
/* Prints the host's time, in microseconds, of both phases of small calls on device 0: aclnnEluBackward, one kernel, and
   aclnnCrossEntropyLossGrad with the mean, two kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "aclnnop/aclnn_elu_backward.h"

enum { kBatch = 500, kBatches = 40 };

static void must(int code, const char* what) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  fprintf(stderr, "%s: %d %s\n", what, code, text ? text : "");
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static aclTensor* zeros(const int64_t* shape, uint64_t rank, aclDataType dtype) {
  size_t bytes = aclDataTypeSize(dtype);
  for (uint64_t i = 0; i < rank; ++i) bytes *= (size_t)shape[i];
  void* memory = NULL;
  must(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  must(aclrtMemset(memory, bytes, 0, bytes), "aclrtMemset");
  return aclCreateTensor(shape, rank, dtype, NULL, 0, ACL_FORMAT_ND, shape, rank, memory);
}

int main(void) {
  must(aclInit(NULL), "aclInit");
  must(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = NULL;
  must(aclrtCreateStream(&stream), "aclrtCreateStream");
  const int64_t line[] = {1024}, matrix[] = {16, 64}, rows[] = {16};
  aclTensor *g = zeros(line, 1, ACL_FLOAT), *x = zeros(line, 1, ACL_FLOAT), *out = zeros(line, 1, ACL_FLOAT);
  aclTensor *loss = zeros(NULL, 0, ACL_FLOAT), *log_prob = zeros(matrix, 2, ACL_FLOAT),
            *target = zeros(rows, 1, ACL_INT64), *grad = zeros(matrix, 2, ACL_FLOAT);
  const float one = 1;
  aclScalar* alpha = aclCreateScalar((void*)&one, ACL_FLOAT);
  char mean[] = "mean";
  for (int which = 0; which < 2; ++which) {
    double least = 1e9;
    for (int batch = 0; batch < kBatches; ++batch) {
      must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
      const double began = now();
      for (int i = 0; i < kBatch; ++i) {
        uint64_t size = 0;
        aclOpExecutor* executor = NULL;
        if (which == 0) {
          must(aclnnEluBackwardGetWorkspaceSize(g, alpha, alpha, alpha, 0, x, out, &size, &executor), "phase one");
          must(aclnnEluBackward(NULL, 0, executor, stream), "phase two");
        } else {
          must(aclnnCrossEntropyLossGradGetWorkspaceSize(loss, log_prob, target, NULL, NULL, NULL, mean, -100, 0, 0,
                                                         grad, &size, &executor),
               "phase one");
          must(aclnnCrossEntropyLossGrad(NULL, 0, executor, stream), "phase two");
        }
      }
      const double each = (now() - began) / kBatch;
      if (each < least) least = each;
    }
    printf("%s %.3f\n", which == 0 ? "aclnnEluBackward" : "aclnnCrossEntropyLossGrad", least);
  }
  return 0;
}
