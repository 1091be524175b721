/* SPDX-License-Identifier: MIT */
/* Phase one without phase two. */
#include "program.h"

int main(void) {
  start();
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
  aclTensor *in = vector(from, ACL_FLOAT, COUNT), *out = vector(to, ACL_FLOAT, COUNT);
  aclOpExecutor* executor = plan_elu(in, out);
#ifdef FIXED
  aclnnElu(NULL, 0, executor, NULL);
#endif
  (void)executor;
  aclrtSynchronizeStream(NULL);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
