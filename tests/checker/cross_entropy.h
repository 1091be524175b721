/* SPDX-License-Identifier: MIT */
/* A cross entropy of two rows of three classes, whose targets are INT64 or INT32. */
#ifndef TESTS_CHECKER_CROSS_ENTROPY_H_
#define TESTS_CHECKER_CROSS_ENTROPY_H_
#include "program.h"

static inline void cross_entropy(aclDataType dtype, double smoothing, double zloss) {
  const float scores[6] = {1, 2, 3, 1, 2, 3};
  const int64_t wide[2] = {0, 1}, matrix[2] = {2, 3};
  const int32_t narrow[2] = {0, 1};
  char mean[] = "mean";
  void* memory[] = {device_copy(scores, sizeof scores),
                    dtype == ACL_INT64 ? device_copy(wide, sizeof wide) : device_copy(narrow, sizeof narrow),
                    device_copy(NULL, sizeof(float)),
                    device_copy(NULL, sizeof scores),
                    device_copy(NULL, sizeof(float)),
                    device_copy(NULL, 2 * sizeof(float))};
  aclTensor* tensors[] = {tensor(memory[0], ACL_FLOAT, 2, matrix), vector(memory[1], dtype, 2),
                          vector(memory[2], ACL_FLOAT, 1),         tensor(memory[3], ACL_FLOAT, 2, matrix),
                          vector(memory[4], ACL_FLOAT, 1),         vector(memory[5], ACL_FLOAT, 2)};
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  if (aclnnCrossEntropyLossGetWorkspaceSize(tensors[0], tensors[1], NULL, mean, -100, smoothing, zloss, false,
                                            tensors[2], tensors[3], tensors[4], tensors[5], &size, &executor) == 0)
    aclnnCrossEntropyLoss(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  for (int i = 0; i < 6; ++i) aclDestroyTensor(tensors[i]), aclrtFree(memory[i]);
}

#endif /* TESTS_CHECKER_CROSS_ENTROPY_H_ */
