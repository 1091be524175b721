/* SPDX-License-Identifier: MIT */
/* The host copies a result before it has waited for it. */
#include "program.h"

int main(void) {
  start();
  float result[COUNT];
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof result);
  elu_floats(from, to, COUNT, NULL);
#ifdef FIXED
  aclrtSynchronizeStream(NULL);
#endif
  aclrtMemcpy(result, sizeof result, to, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtSynchronizeStream(NULL);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
