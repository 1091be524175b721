/* SPDX-License-Identifier: MIT */
/* A tensor, a scalar and an array that nobody destroys. */
#include "program.h"

int main(void) {
  start();
  float one = 1;
  const int64_t size = 3;
  aclTensor* t = vector(NULL, ACL_FLOAT, 1);
  aclScalar* s = aclCreateScalar(&one, ACL_FLOAT);
  aclIntArray* a = aclCreateIntArray(&size, 1);
#ifdef FIXED
  aclDestroyTensor(t);
  aclDestroyScalar(s);
  aclDestroyIntArray(a);
#endif
  (void)t, (void)s, (void)a;
  return finish();
}
