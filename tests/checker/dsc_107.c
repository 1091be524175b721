/* SPDX-License-Identifier: MIT */
/* Reading what aclrtMalloc returned. */
#include "program.h"

int main(void) {
  start();
  void *from = device_copy(NULL, sizeof(float) * COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
#ifdef FIXED
  aclrtMemset(from, sizeof(float) * COUNT, 0, sizeof(float) * COUNT);
#endif
  elu_floats(from, to, COUNT, NULL);
  aclrtSynchronizeStream(NULL);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
