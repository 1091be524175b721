/* SPDX-License-Identifier: MIT */
/* Upsampling volumes. */
#ifndef TESTS_CHECKER_UPSAMPLE_H_
#define TESTS_CHECKER_UPSAMPLE_H_
#include "program.h"

/* n rows along their width. */
static inline void upsample(int64_t n, int64_t from, int64_t to, double scale) {
  const int64_t in_shape[5] = {n, 1, 1, 1, from}, out_shape[5] = {n, 1, 1, 1, to}, size[3] = {1, 1, to};
  void *in_memory = device_floats((int)(n * from) + 1),
       *out_memory = device_copy(NULL, sizeof(float) * (size_t)(n * to + 1));
  aclTensor *in = tensor(in_memory, ACL_FLOAT, 5, in_shape), *out = tensor(out_memory, ACL_FLOAT, 5, out_shape);
  aclIntArray* output_size = aclCreateIntArray(size, 3);
  uint64_t bytes = 0;
  aclOpExecutor* executor = NULL;
  const double other = scale > 0 ? 1 : 0;
  if (aclnnUpsampleNearest3dGetWorkspaceSize(in, output_size, other, other, scale, out, &bytes, &executor) == 0)
    aclnnUpsampleNearest3d(NULL, bytes, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyIntArray(output_size);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(in_memory);
  aclrtFree(out_memory);
}

/* Phase one alone, which looks at no memory, of a volume of any size: depth, height, width. */
static inline void plan_upsample(const int64_t* from, const int64_t* to) {
  const int64_t in_shape[5] = {1, 1, from[0], from[1], from[2]}, out_shape[5] = {1, 1, to[0], to[1], to[2]};
  void *in_memory = device_floats(1), *out_memory = device_copy(NULL, sizeof(float));
  aclTensor *in = tensor(in_memory, ACL_FLOAT, 5, in_shape), *out = tensor(out_memory, ACL_FLOAT, 5, out_shape);
  aclIntArray* output_size = aclCreateIntArray(to, 3);
  uint64_t bytes = 0;
  aclOpExecutor* executor = NULL;
  aclnnUpsampleNearest3dGetWorkspaceSize(in, output_size, 0, 0, 0, out, &bytes, &executor);
  aclSetAclOpExecutorRepeatable(executor);
  aclDestroyAclOpExecutor(executor);
  aclDestroyIntArray(output_size);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(in_memory);
  aclrtFree(out_memory);
}

#endif /* TESTS_CHECKER_UPSAMPLE_H_ */
