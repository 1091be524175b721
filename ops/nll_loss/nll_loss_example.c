// SPDX-License-Identifier: MIT
/* The negative log likelihood loss and its gradient on the device, from C, of rows and of planes of classes.  Prints
   what it computed and whether it is right. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"

enum { kPositions = 4, kClasses = 3, kCount = kPositions * kClasses, kMean = 1, kIgnored = -100 };

/* Ends the program with the function, its code and the reason. */
static void check(int status, const char* function) {
  const char* why;
  if (status == 0) return;
  why = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d\n%s\n", function, status, why ? why : "");
  exit(1);
}

/* Device memory with a copy of `bytes` of the host's. */
static void* make_memory(const void* values, size_t bytes) {
  void* memory;
  check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(aclrtMemcpy(memory, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  return memory;
}
static aclTensor* make_tensor(void* memory, aclDataType dtype, const int64_t* shape, uint64_t rank) {
  return aclCreateTensor(shape, rank, dtype, NULL, 0, ACL_FORMAT_ND, shape, rank, memory);
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

/* The mean loss and its gradient: of 4 rows of 3 classes, or of 3 planes of 2 by 2 positions. */
static int try_both(const Session* s, int planes) {
  const float x[kCount] = {-0.5f, -1, -2, -3, -1.5f, -0.25f, -2, -1, -0.75f, -4, -1.25f, -0.5f},
              w[kClasses] = {1, 2, 0.5f};
  const float one = 1;
  const int64_t t[kPositions] = {0, 2, kIgnored, 1}; /* the third position counts for nothing */
  const int64_t self_rows[] = {kPositions, kClasses}, self_planes[] = {1, kClasses, 2, 2};
  const int64_t target_rows[] = {kPositions}, target_planes[] = {1, 2, 2}, classes = kClasses;
  const char* forward = planes ? "aclnnNLLLoss2d" : "aclnnNLLLoss";
  const char* backward = planes ? "aclnnNLLLoss2dBackward" : "aclnnNLLLossBackward";
  double loss = 0, total = 0, gradient[kCount] = {0}, took;
  void *self_memory, *target_memory, *weight_memory, *loss_memory, *total_memory, *one_memory, *out_memory;
  aclTensor *self, *target, *weight, *result, *totalWeight, *gradOutput, *out;
  aclOpExecutor* executor;
  uint64_t size;
  int i, correct;

  for (i = 0; i < kPositions; ++i)
    if (t[i] != kIgnored) total += w[t[i]];
  for (i = 0; i < kPositions; ++i)
    if (t[i] != kIgnored) {
      const int at = planes ? (int)t[i] * kPositions + i : i * kClasses + (int)t[i];
      loss -= w[t[i]] * x[at] / total;
      gradient[at] = -w[t[i]] / total;
    }
  self_memory = make_memory(x, sizeof x);
  target_memory = make_memory(t, sizeof t);
  weight_memory = make_memory(w, sizeof w);
  loss_memory = make_memory(&one, sizeof one);
  total_memory = make_memory(&one, sizeof one);
  one_memory = make_memory(&one, sizeof one);
  out_memory = make_memory(x, sizeof x);
  self =
      planes ? make_tensor(self_memory, ACL_FLOAT, self_planes, 4) : make_tensor(self_memory, ACL_FLOAT, self_rows, 2);
  out = planes ? make_tensor(out_memory, ACL_FLOAT, self_planes, 4) : make_tensor(out_memory, ACL_FLOAT, self_rows, 2);
  target = planes ? make_tensor(target_memory, ACL_INT64, target_planes, 3)
                  : make_tensor(target_memory, ACL_INT64, target_rows, 1);
  weight = make_tensor(weight_memory, ACL_FLOAT, &classes, 1);
  result = make_tensor(loss_memory, ACL_FLOAT, NULL, 0);
  totalWeight = make_tensor(total_memory, ACL_FLOAT, NULL, 0);
  gradOutput = make_tensor(one_memory, ACL_FLOAT, NULL, 0);

  check(aclrtRecordEvent(s->begin, s->stream), "aclrtRecordEvent");
  check((planes ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize)(self, target, weight, kMean, kIgnored,
                                                                                 result, totalWeight, &size, &executor),
        forward);
  took = run(s, forward, planes ? aclnnNLLLoss2d : aclnnNLLLoss, size, executor);
  correct = show(forward, loss_memory, &loss, 1, took);

  /* totalWeight stays on the device: what the loss divided by is what its gradient divides by. */
  check(aclrtRecordEvent(s->begin, s->stream), "aclrtRecordEvent");
  if (planes)
    check(aclnnNLLLoss2dBackwardGetWorkspaceSize(gradOutput, self, target, weight, kMean, kIgnored, totalWeight, out,
                                                 &size, &executor),
          backward);
  else
    check(aclnnNLLLossBackwardGetWorkspaceSize(gradOutput, self, target, weight, kMean, kIgnored, totalWeight, out,
                                               &size, &executor),
          backward);
  took = run(s, backward, planes ? aclnnNLLLoss2dBackward : aclnnNLLLossBackward, size, executor);
  correct &= show(backward, out_memory, gradient, kCount, took);

  aclDestroyTensor(self);
  aclDestroyTensor(target);
  aclDestroyTensor(weight);
  aclDestroyTensor(result);
  aclDestroyTensor(totalWeight);
  aclDestroyTensor(gradOutput);
  aclDestroyTensor(out);
  aclrtFree(self_memory);
  aclrtFree(target_memory);
  aclrtFree(weight_memory);
  aclrtFree(loss_memory);
  aclrtFree(total_memory);
  aclrtFree(one_memory);
  aclrtFree(out_memory);
  return correct;
}

int main(void) {
  Session s;
  int correct;
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&s.stream), "aclrtCreateStream");
  check(aclrtCreateEvent(&s.begin), "aclrtCreateEvent");
  check(aclrtCreateEvent(&s.end), "aclrtCreateEvent");
  correct = try_both(&s, 0);
  correct &= try_both(&s, 1);
  check(aclrtDestroyEvent(s.begin), "aclrtDestroyEvent");
  check(aclrtDestroyEvent(s.end), "aclrtDestroyEvent");
  check(aclrtDestroyStream(s.stream), "aclrtDestroyStream");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return correct ? 0 : 1;
}
