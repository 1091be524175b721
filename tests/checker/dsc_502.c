/* SPDX-License-Identifier: MIT */
/* A dtype that the product does not have. */
#include "program.h"

int main(void) {
  setenv("DESCEND_SOC", WRONG_OR_RIGHT("Ascend910A", "Ascend910B1"), 1);
  start();
  float one = 1;
  const uint16_t values[2] = {0, 0};
  void *from = device_copy(values, sizeof values), *to = device_copy(NULL, sizeof values);
  aclTensor *in = vector(from, ACL_BF16, 2), *out = vector(to, ACL_BF16, 2);
  aclScalar* s = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  if (aclnnEluBackwardGetWorkspaceSize(in, s, s, s, true, in, out, &size, &executor) == 0)
    aclnnEluBackward(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyScalar(s);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
