// SPDX-License-Identifier: MIT
/* A volume at twice its size, and the gradient of that, on the device, from C.  Prints what it computed and whether it
   is right. */
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"

enum { kSmall = 2 * 2, kLarge = 2 * 2 * 2 * 4 }; /* elements of (1, 2, 1, 1, 2) and of (1, 2, 2, 2, 4) */

/* Ends the program with the function, its code and the reason. */
static void check(int status, const char* function) {
  const char* why;
  if (status == 0) return;
  why = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d\n%s\n", function, status, why ? why : "");
  exit(1);
}

/* A volume of floats, (N, C, D, H, W), in device memory. */
static aclTensor* make_tensor(const float* values, const int64_t* shape, void** memory) {
  const size_t bytes = (size_t)(shape[0] * shape[1] * shape[2] * shape[3] * shape[4]) * sizeof(float);
  check(aclrtMalloc(memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(aclrtMemcpy(*memory, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  return aclCreateTensor(shape, 5, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCDHW, shape, 5, *memory);
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
static int show(const char* name, void* memory, const float* expected, int count, double took) {
  float result[kLarge];
  const size_t bytes = (size_t)count * sizeof(float);
  int i, correct = 1;
  check(aclrtMemcpy(result, sizeof result, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
  printf("%s:", name);
  for (i = 0; i < count; ++i) {
    printf(" %g", result[i]);
    if (result[i] != expected[i]) correct = 0;
  }
  printf("\nRESULT %s %s %.1f\n", name, correct ? "correct" : "WRONG", took);
  return correct;
}

int main(void) {
  const int64_t small[] = {1, 2, 1, 1, 2}, large[] = {1, 2, 2, 2, 4};
  const float x[kSmall] = {1, 2, 3, 4};
  float g[kLarge], up[kLarge], sum[kSmall] = {0};
  double took;
  void *self_memory, *out_memory, *gradient_memory, *result_memory;
  aclTensor *self, *out, *gradOut, *gradInput;
  aclIntArray *outputSize, *inputSize;
  Session s;
  aclOpExecutor* executor;
  uint64_t size;
  int i, correct;

  for (i = 0; i < kLarge; ++i) {
    const int source = i / 16 * 2 + i % 4 / 2; /* the channel, and half of the width's index */
    g[i] = (float)(i + 1);
    up[i] = x[source];
    sum[source] += g[i];
  }
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&s.stream), "aclrtCreateStream");
  check(aclrtCreateEvent(&s.begin), "aclrtCreateEvent");
  check(aclrtCreateEvent(&s.end), "aclrtCreateEvent");
  self = make_tensor(x, small, &self_memory);
  out = make_tensor(g, large, &out_memory);
  gradOut = make_tensor(g, large, &gradient_memory);
  gradInput = make_tensor(x, small, &result_memory);
  outputSize = aclCreateIntArray(large + 2, 3);
  inputSize = aclCreateIntArray(small, 5);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnUpsampleNearest3dGetWorkspaceSize(self, outputSize, 2, 2, 2, out, &size, &executor),
        "aclnnUpsampleNearest3dGetWorkspaceSize");
  took = run(&s, "aclnnUpsampleNearest3d", aclnnUpsampleNearest3d, size, executor);
  correct = show("aclnnUpsampleNearest3d", out_memory, up, kLarge, took);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnUpsampleNearest3dBackwardGetWorkspaceSize(gradOut, outputSize, inputSize, 2, 2, 2, gradInput, &size,
                                                       &executor),
        "aclnnUpsampleNearest3dBackwardGetWorkspaceSize");
  took = run(&s, "aclnnUpsampleNearest3dBackward", aclnnUpsampleNearest3dBackward, size, executor);
  correct &= show("aclnnUpsampleNearest3dBackward", result_memory, sum, kSmall, took);

  aclDestroyIntArray(outputSize);
  aclDestroyIntArray(inputSize);
  aclDestroyTensor(self);
  aclDestroyTensor(out);
  aclDestroyTensor(gradOut);
  aclDestroyTensor(gradInput);
  aclrtFree(self_memory);
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
