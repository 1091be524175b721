// SPDX-License-Identifier: MIT
/* The smooth L1 loss and its gradient on the device, from C.  Prints what it computed and whether it is right. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"

enum { kCount = 8, kMean = 1 };

/* Ends the program with the function, its code and the reason. */
static void check(int status, const char* function) {
  const char* why;
  if (status == 0) return;
  why = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d\n%s\n", function, status, why ? why : "");
  exit(1);
}

/* A tensor of `count` floats in device memory. */
static aclTensor* make_tensor(const float* values, int64_t count, void** memory) {
  const size_t bytes = (size_t)count * sizeof(float);
  check(aclrtMalloc(memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(aclrtMemcpy(*memory, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  return aclCreateTensor(&count, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, &count, 1, *memory);
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
static int show(const char* name, void* memory, const double* expected, int count, double took) {
  float result[kCount];
  const size_t bytes = (size_t)count * sizeof(float);
  int i, correct = 1;
  check(aclrtMemcpy(result, sizeof result, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
  printf("%s:", name);
  for (i = 0; i < count; ++i) {
    printf(" %g", result[i]);
    if (!(fabs(result[i] - expected[i]) <= 1e-6)) correct = 0;
  }
  printf("\nRESULT %s %s %.1f\n", name, correct ? "correct" : "WRONG", took);
  return correct;
}

int main(void) {
  const float x[kCount] = {0, 0.75f, 1, 1.5f, 2, 3, -4, 5}, y[kCount] = {1, 1, 1, 1, 1, 1, 1, 1}, one = 1, beta = 1;
  double mean = 0, slope[kCount], took;
  void *self_memory, *target_memory, *loss_memory, *gradient_memory, *result_memory;
  aclTensor *self, *target, *loss, *gradOut, *gradInput;
  Session s;
  aclOpExecutor* executor;
  uint64_t size;
  int i, correct;

  for (i = 0; i < kCount; ++i) {
    const double d = x[i] - y[i], distance = fabs(d);
    mean += (distance < beta ? 0.5 * d * d / beta : distance - 0.5 * beta) / kCount;
    slope[i] = (distance < beta ? d / beta : d > 0 ? 1 : -1) / kCount;
  }
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&s.stream), "aclrtCreateStream");
  check(aclrtCreateEvent(&s.begin), "aclrtCreateEvent");
  check(aclrtCreateEvent(&s.end), "aclrtCreateEvent");
  self = make_tensor(x, kCount, &self_memory);
  target = make_tensor(y, kCount, &target_memory);
  loss = make_tensor(&one, 1, &loss_memory);
  gradOut = make_tensor(&one, 1, &gradient_memory); /* one number, as the loss is: it broadcasts */
  gradInput = make_tensor(x, kCount, &result_memory);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnSmoothL1LossGetWorkspaceSize(self, target, kMean, beta, loss, &size, &executor),
        "aclnnSmoothL1LossGetWorkspaceSize");
  took = run(&s, "aclnnSmoothL1Loss", aclnnSmoothL1Loss, size, executor);
  correct = show("aclnnSmoothL1Loss", loss_memory, &mean, 1, took);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnSmoothL1LossBackwardGetWorkspaceSize(gradOut, self, target, kMean, beta, gradInput, &size, &executor),
        "aclnnSmoothL1LossBackwardGetWorkspaceSize");
  took = run(&s, "aclnnSmoothL1LossBackward", aclnnSmoothL1LossBackward, size, executor);
  correct &= show("aclnnSmoothL1LossBackward", result_memory, slope, kCount, took);

  aclDestroyTensor(self);
  aclDestroyTensor(target);
  aclDestroyTensor(loss);
  aclDestroyTensor(gradOut);
  aclDestroyTensor(gradInput);
  aclrtFree(self_memory);
  aclrtFree(target_memory);
  aclrtFree(loss_memory);
  aclrtFree(gradient_memory);
  aclrtFree(result_memory);
  check(aclrtDestroyEvent(s.begin), "aclrtDestroyEvent");
  check(aclrtDestroyEvent(s.end), "aclrtDestroyEvent");
  check(aclrtDestroyStream(s.stream), "aclrtDestroyStream");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return correct ? 0 : 1;
}
