/* SPDX-License-Identifier: MIT */
/* Phase two twice with one executor. */
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
  aclnnElu(NULL, 0, executor, NULL);
  aclrtSynchronizeStream(NULL);
#ifdef FIXED
  aclDestroyAclOpExecutor(executor);
#endif
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
