/* SPDX-License-Identifier: MIT */
/* The gradient of a z-loss. */
#include "program.h"

#include "aclnnop/aclnn_cross_entropy_loss_grad.h"

int main(void) {
  start();
  const float scores[6] = {-1, -2, -3, -1, -2, -3};
  const int64_t targets[2] = {0, 1}, matrix[2] = {2, 3};
  char mean[] = "mean";
  void* memory[] = {device_copy(scores, sizeof(float)),   device_copy(scores, sizeof scores),
                    device_copy(targets, sizeof targets), device_copy(NULL, sizeof scores),
                    device_copy(scores, sizeof(float)),   device_copy(scores, 2 * sizeof(float))};
  aclTensor *loss = vector(memory[0], ACL_FLOAT, 1), *self = tensor(memory[1], ACL_FLOAT, 2, matrix);
  aclTensor *target = vector(memory[2], ACL_INT64, 2), *out = tensor(memory[3], ACL_FLOAT, 2, matrix);
  aclTensor *zloss = vector(memory[4], ACL_FLOAT, 1), *lse = vector(memory[5], ACL_FLOAT, 2);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnCrossEntropyLossGradGetWorkspaceSize(loss, self, target, NULL, WRONG_OR_RIGHT(zloss, NULL),
                                            WRONG_OR_RIGHT(lse, NULL), mean, -100, 0, 0, out, &size, &executor);
  aclnnCrossEntropyLossGrad(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclTensor* tensors[] = {loss, self, target, out, zloss, lse};
  for (int i = 0; i < 6; ++i) aclDestroyTensor(tensors[i]), aclrtFree(memory[i]);
  return finish();
}
