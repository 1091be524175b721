/* SPDX-License-Identifier: MIT */
/* An operator that the product does not have. */
#include "program.h"

#include "loss.h"

int main(void) {
  setenv("DESCEND_SOC", WRONG_OR_RIGHT("Ascend310P3", "Ascend910B1"), 1);
  start();
#ifdef FIXED
  mean_loss(0, 1);
#else
  const int64_t matrix[2] = {2, 3};
  aclTensor *s = tensor(NULL, ACL_FLOAT, 2, matrix), *t = vector(NULL, ACL_INT64, 2), *w = vector(NULL, ACL_FLOAT, 3);
  aclTensor* out = vector(NULL, ACL_FLOAT, 1);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnNLLLossGetWorkspaceSize(s, t, w, 2, -100, out, out, &size, &executor);
  aclTensor* tensors[] = {s, t, w, out};
  for (int i = 0; i < 4; ++i) aclDestroyTensor(tensors[i]);
#endif
  return finish();
}
