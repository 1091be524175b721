/* SPDX-License-Identifier: MIT */
/* A view that reaches into the padding only: the data are floats, the tensor says INT64. */
#include "program.h"

int main(void) {
  start();
  const float scores[2][3] = {{0, 1, 2}, {2, 1, 0}}, weights[3] = {1, 1, 1};
  const WRONG_OR_RIGHT(float, int64_t) targets[2] = {0, 1};
  const int64_t matrix[2] = {2, 3};
  void* target = device_copy(targets, sizeof targets);
  void *self = device_copy(scores, sizeof scores), *weight = device_copy(weights, sizeof weights);
  void *loss = device_copy(NULL, sizeof(float)), *total = device_copy(NULL, sizeof(float));
  aclTensor *s = tensor(self, ACL_FLOAT, 2, matrix), *t = vector(target, ACL_INT64, 2),
            *w = vector(weight, ACL_FLOAT, 3);
  aclTensor *out = vector(loss, ACL_FLOAT, 1), *sum = vector(total, ACL_FLOAT, 1);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnNLLLossGetWorkspaceSize(s, t, w, 2, -100, out, sum, &size, &executor);
  aclnnNLLLoss(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclTensor* tensors[] = {s, t, w, out, sum};
  void* memory[] = {target, self, weight, loss, total};
  for (int i = 0; i < 5; ++i) aclDestroyTensor(tensors[i]), aclrtFree(memory[i]);
  return finish();
}
