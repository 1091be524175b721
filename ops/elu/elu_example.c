// SPDX-License-Identifier: MIT
/* ELU forward, in place and backward on the device, from C.  Prints what it computed and whether it is right. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"

enum { kCount = 4 };

/* Ends the program with the function, its code and the reason. */
static void check(int status, const char* function) {
  const char* why;
  if (status == 0) return;
  why = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d\n%s\n", function, status, why ? why : "");
  exit(1);
}

/* A tensor of four floats in device memory. */
static aclTensor* make_tensor(const float* values, void** memory) {
  const int64_t shape[] = {2, 2};
  check(aclrtMalloc(memory, kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(aclrtMemcpy(*memory, kCount * sizeof(float), values, kCount * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
  return aclCreateTensor(shape, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, *memory);
}

typedef struct {
  aclrtStream stream;
  aclrtEvent begin, end; /* around the call that is being timed */
} Session;

/* Runs phase two with the workspace phase one asked for, and waits.  Returns the microseconds since `begin`. */
typedef aclnnStatus (*PhaseTwo)(void*, uint64_t, aclOpExecutor*, aclrtStream);
static double run(const Session* s, const char* name, PhaseTwo phase_two, uint64_t size, aclOpExecutor* executor) {
  void* workspace = NULL;
  float milliseconds;
  if (size > 0) check(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(phase_two(workspace, size, executor, s->stream), name);
  check(aclrtRecordEvent(s->end, s->stream), "aclrtRecordEvent");
  check(aclrtSynchronizeStream(s->stream), "aclrtSynchronizeStream");
  check(aclrtEventElapsedTime(&milliseconds, s->begin, s->end), "aclrtEventElapsedTime");
  if (workspace) check(aclrtFree(workspace), "aclrtFree");
  return milliseconds * 1000.0;
}

/* Copies a result back, prints it and compares it.  Returns whether it is right. */
static int show(const char* name, void* memory, const double* expected, double took) {
  float result[kCount];
  int i, correct = 1;
  check(aclrtMemcpy(result, sizeof result, memory, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
  printf("%s:", name);
  for (i = 0; i < kCount; ++i) {
    printf(" %g", result[i]);
    if (!(fabs(result[i] - expected[i]) <= 1e-6)) correct = 0;
  }
  printf("\nRESULT %s %s %.1f\n", name, correct ? "correct" : "WRONG", took);
  return correct;
}

int main(void) {
  const float x[kCount] = {-2, -1, 0, 1}, gradient[kCount] = {1, 2, 3, 4};
  double value[kCount], slope[kCount], took;
  float one = 1;
  void *x_memory, *out_memory, *gradient_memory, *result_memory;
  aclTensor *self, *out, *gradOutput, *gradInput;
  aclScalar* number;
  Session s;
  aclOpExecutor* executor;
  uint64_t size;
  int i, correct;

  for (i = 0; i < kCount; ++i) {
    value[i] = x[i] > 0 ? x[i] : expm1(x[i]);
    slope[i] = gradient[i] * (x[i] > 0 ? 1 : exp(x[i]));
  }
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&s.stream), "aclrtCreateStream");
  check(aclrtCreateEvent(&s.begin), "aclrtCreateEvent");
  check(aclrtCreateEvent(&s.end), "aclrtCreateEvent");
  self = make_tensor(x, &x_memory);
  out = make_tensor(x, &out_memory);
  gradOutput = make_tensor(gradient, &gradient_memory);
  gradInput = make_tensor(x, &result_memory);
  number = aclCreateScalar(&one, ACL_FLOAT); /* alpha, scale and inputScale */

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnEluGetWorkspaceSize(self, number, number, number, out, &size, &executor), "aclnnEluGetWorkspaceSize");
  took = run(&s, "aclnnElu", aclnnElu, size, executor);
  correct = show("aclnnElu", out_memory, value, took);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnEluBackwardGetWorkspaceSize(gradOutput, number, number, number, false, self, gradInput, &size, &executor),
        "aclnnEluBackwardGetWorkspaceSize");
  took = run(&s, "aclnnEluBackward", aclnnEluBackward, size, executor);
  correct &= show("aclnnEluBackward", result_memory, slope, took);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnInplaceEluGetWorkspaceSize(self, number, number, number, &size, &executor),
        "aclnnInplaceEluGetWorkspaceSize");
  took = run(&s, "aclnnInplaceElu", aclnnInplaceElu, size, executor);
  correct &= show("aclnnInplaceElu", x_memory, value, took);

  aclDestroyTensor(self);
  aclDestroyTensor(out);
  aclDestroyTensor(gradOutput);
  aclDestroyTensor(gradInput);
  aclDestroyScalar(number);
  aclrtFree(x_memory);
  aclrtFree(out_memory);
  aclrtFree(gradient_memory);
  aclrtFree(result_memory);
  check(aclrtDestroyEvent(s.begin), "aclrtDestroyEvent");
  check(aclrtDestroyEvent(s.end), "aclrtDestroyEvent");
  check(aclrtDestroyStream(s.stream), "aclrtDestroyStream");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return correct ? 0 : 1;
}
