/* SPDX-License-Identifier: MIT */
/* What the programs of the checker's tests share.  Each is wrong in one way; with -DFIXED it is right. */
#ifndef TESTS_CHECKER_PROGRAM_H_
#define TESTS_CHECKER_PROGRAM_H_
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"

#ifdef FIXED
#define WRONG_OR_RIGHT(wrong, right) right
#else
#define WRONG_OR_RIGHT(wrong, right) wrong
#endif

#define COUNT 16

/* Device memory with these bytes; with no data nothing is written. */
static inline void* device_copy(const void* data, size_t bytes) {
  void* memory = NULL;
  aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  if (data != NULL) aclrtMemcpy(memory, bytes, data, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  return memory;
}

static inline void* device_floats(int count) {
  float* values = (float*)malloc(sizeof(float) * (size_t)count);
  for (int i = 0; i < count; ++i) values[i] = (float)i - (float)count / 2;
  void* memory = device_copy(values, sizeof(float) * (size_t)count);
  free(values);
  return memory;
}

static inline aclTensor* tensor(void* memory, aclDataType dtype, int rank, const int64_t* shape) {
  return aclCreateTensor(shape, (uint64_t)rank, dtype, NULL, 0, ACL_FORMAT_ND, shape, (uint64_t)rank, memory);
}
static inline aclTensor* vector(void* memory, aclDataType dtype, int64_t count) {
  return tensor(memory, dtype, 1, &count);
}

/* Phase one of out = elu(in). */
static inline aclOpExecutor* plan_elu(aclTensor* in, aclTensor* out) {
  float one = 1;
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnEluGetWorkspaceSize(in, scalar, scalar, scalar, out, &size, &executor);
  aclDestroyScalar(scalar);
  return executor;
}

/* out = elu(in) on a stream, with workspace where it is asked for. */
static inline int elu(aclTensor* in, aclTensor* out, aclrtStream stream) {
  float one = 1;
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t size = 0;
  void* workspace = NULL;
  aclOpExecutor* executor = NULL;
  int status = aclnnEluGetWorkspaceSize(in, scalar, scalar, scalar, out, &size, &executor);
  if (size > 0) aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST);
  if (status == 0) status = aclnnElu(workspace, size, executor, stream);
  if (size > 0) {
    aclrtSynchronizeStream(stream);
    aclrtFree(workspace);
  }
  aclDestroyScalar(scalar);
  return status;
}

/* elu of floats in memory to memory, of `count` elements, on a stream. */
static inline int elu_floats(void* from, void* to, int64_t count, aclrtStream stream) {
  aclTensor *in = vector(from, ACL_FLOAT, count), *out = vector(to, ACL_FLOAT, count);
  const int status = elu(in, out, stream);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  return status;
}

static inline void start(void) {
  aclInit(NULL);
  aclrtSetDevice(0);
}
static inline int finish(void) {
  aclrtSynchronizeDevice();
  aclrtResetDevice(0);
  aclFinalize();
  return 0;
}

#endif /* TESTS_CHECKER_PROGRAM_H_ */
