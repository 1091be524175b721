/* SPDX-License-Identifier: MIT */
/* A mean NLL loss of two rows of three classes with these targets. */
#ifndef TESTS_CHECKER_LOSS_H_
#define TESTS_CHECKER_LOSS_H_
#include "program.h"

static inline void mean_loss(int64_t first, int64_t second) {
  const float scores[6] = {-1, -2, -3, -1, -2, -3}, weights[3] = {1, 1, 1};
  const int64_t targets[2] = {first, second}, matrix[2] = {2, 3};
  void* memory[] = {device_copy(scores, sizeof scores), device_copy(targets, sizeof targets),
                    device_copy(weights, sizeof weights), device_copy(NULL, sizeof(float)),
                    device_copy(NULL, sizeof(float))};
  aclTensor* tensors[] = {tensor(memory[0], ACL_FLOAT, 2, matrix), vector(memory[1], ACL_INT64, 2),
                          vector(memory[2], ACL_FLOAT, 3), vector(memory[3], ACL_FLOAT, 1),
                          vector(memory[4], ACL_FLOAT, 1)};
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnNLLLossGetWorkspaceSize(tensors[0], tensors[1], tensors[2], 1, -100, tensors[3], tensors[4], &size, &executor);
  aclnnNLLLoss(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  for (int i = 0; i < 5; ++i) aclDestroyTensor(tensors[i]), aclrtFree(memory[i]);
}

#endif /* TESTS_CHECKER_LOSS_H_ */
