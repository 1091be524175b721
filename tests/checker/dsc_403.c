/* SPDX-License-Identifier: MIT */
/* A FLOAT16 result that overflows. */
#include "program.h"

int main(void) {
  start();
  float scale = WRONG_OR_RIGHT(1e6f, 2), one = 1;
  const uint16_t values[2] = {0x3c00, 0x4000}; /* 1 and 2 */
  void *from = device_copy(values, sizeof values), *to = device_copy(NULL, sizeof values);
  aclTensor *in = vector(from, ACL_FLOAT16, 2), *out = vector(to, ACL_FLOAT16, 2);
  aclScalar *s = aclCreateScalar(&scale, ACL_FLOAT), *o = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnEluGetWorkspaceSize(in, o, s, o, out, &size, &executor);
  aclnnElu(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyScalar(s);
  aclDestroyScalar(o);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
