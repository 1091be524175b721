/* SPDX-License-Identifier: MIT */
/* Destroying an executor that phase two has used up. */
#include "program.h"

int main(void) {
  start();
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
  aclTensor *in = vector(from, ACL_FLOAT, COUNT), *out = vector(to, ACL_FLOAT, COUNT);
  aclOpExecutor* executor = plan_elu(in, out);
#ifdef FIXED
  aclSetAclOpExecutorRepeatable(executor);
#endif
  aclnnElu(NULL, 0, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyAclOpExecutor(executor);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
