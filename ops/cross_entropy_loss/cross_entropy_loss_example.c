// SPDX-License-Identifier: MIT
/* The cross entropy and its gradient on the device, from C.  Prints what it computed and whether it is right. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"

enum { kRows = 3, kClasses = 4, kCount = kRows * kClasses, kIgnored = -100 };

/* Ends the program with the function, its code and the reason. */
static void check(int status, const char* function) {
  const char* why;
  if (status == 0) return;
  why = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d\n%s\n", function, status, why ? why : "");
  exit(1);
}

/* A tensor in device memory, with a copy of the values. */
static aclTensor* make_tensor(aclDataType dtype, const void* values, const int64_t* shape, uint64_t rank,
                              void** memory) {
  size_t bytes = dtype == ACL_INT64 ? sizeof(int64_t) : sizeof(float);
  uint64_t i;
  for (i = 0; i < rank; ++i) bytes *= (size_t)shape[i];
  check(aclrtMalloc(memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(aclrtMemcpy(*memory, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  return aclCreateTensor(shape, rank, dtype, NULL, 0, ACL_FORMAT_ND, shape, rank, *memory);
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
  const float scores[kCount] = {0, 1, 2, 3, 1, 1, 1, 1, -2, 0, 5, 1}, zeros[kCount] = {0}, one = 1;
  const int64_t labels[kRows] = {3, 0, kIgnored}; /* the last row does not count */
  const int64_t matrix[2] = {kRows, kClasses}, rows[1] = {kRows};
  char mean[] = "mean";
  double loss = 0, slope[kCount], took;
  void *input_memory, *target_memory, *loss_memory, *log_prob_memory, *zloss_memory, *lse_memory, *gradient_memory,
      *result_memory;
  aclTensor *input, *target, *lossOut, *logProb, *zlossOut, *lseForZloss, *gradLoss, *out;
  Session s;
  aclOpExecutor* executor;
  uint64_t size;
  int i, j, correct;

  for (i = 0; i < kRows; ++i) {
    double sum = 0;
    for (j = 0; j < kClasses; ++j) sum += exp(scores[i * kClasses + j]);
    for (j = 0; j < kClasses; ++j) {
      const double probability = exp(scores[i * kClasses + j]) / sum;
      slope[i * kClasses + j] = labels[i] == kIgnored ? 0 : (probability - (j == labels[i])) / 2;
      if (j == labels[i]) loss -= log(probability) / 2;
    }
  }
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&s.stream), "aclrtCreateStream");
  check(aclrtCreateEvent(&s.begin), "aclrtCreateEvent");
  check(aclrtCreateEvent(&s.end), "aclrtCreateEvent");
  input = make_tensor(ACL_FLOAT, scores, matrix, 2, &input_memory);
  target = make_tensor(ACL_INT64, labels, rows, 1, &target_memory);
  lossOut = make_tensor(ACL_FLOAT, zeros, NULL, 0, &loss_memory);
  logProb = make_tensor(ACL_FLOAT, zeros, matrix, 2, &log_prob_memory);
  zlossOut = make_tensor(ACL_FLOAT, zeros, NULL, 0, &zloss_memory); /* wanted, though not written */
  lseForZloss = make_tensor(ACL_FLOAT, zeros, rows, 1, &lse_memory);
  gradLoss = make_tensor(ACL_FLOAT, &one, NULL, 0, &gradient_memory);
  out = make_tensor(ACL_FLOAT, zeros, matrix, 2, &result_memory);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnCrossEntropyLossGetWorkspaceSize(input, target, NULL, mean, kIgnored, 0.0, 0.0, false, lossOut, logProb,
                                              zlossOut, lseForZloss, &size, &executor),
        "aclnnCrossEntropyLossGetWorkspaceSize");
  took = run(&s, "aclnnCrossEntropyLoss", aclnnCrossEntropyLoss, size, executor);
  correct = show("aclnnCrossEntropyLoss", loss_memory, &loss, 1, took);

  check(aclrtRecordEvent(s.begin, s.stream), "aclrtRecordEvent");
  check(aclnnCrossEntropyLossGradGetWorkspaceSize(gradLoss, logProb, target, NULL, NULL, NULL, mean, kIgnored, 0.0, 0.0,
                                                  out, &size, &executor),
        "aclnnCrossEntropyLossGradGetWorkspaceSize");
  took = run(&s, "aclnnCrossEntropyLossGrad", aclnnCrossEntropyLossGrad, size, executor);
  correct &= show("aclnnCrossEntropyLossGrad", result_memory, slope, kCount, took);

  aclDestroyTensor(input);
  aclDestroyTensor(target);
  aclDestroyTensor(lossOut);
  aclDestroyTensor(logProb);
  aclDestroyTensor(zlossOut);
  aclDestroyTensor(lseForZloss);
  aclDestroyTensor(gradLoss);
  aclDestroyTensor(out);
  aclrtFree(input_memory);
  aclrtFree(target_memory);
  aclrtFree(loss_memory);
  aclrtFree(log_prob_memory);
  aclrtFree(zloss_memory);
  aclrtFree(lse_memory);
  aclrtFree(gradient_memory);
  aclrtFree(result_memory);
  check(aclrtDestroyEvent(s.begin), "aclrtDestroyEvent");
  check(aclrtDestroyEvent(s.end), "aclrtDestroyEvent");
  check(aclrtDestroyStream(s.stream), "aclrtDestroyStream");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return correct ? 0 : 1;
}
