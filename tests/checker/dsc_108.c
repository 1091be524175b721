/* SPDX-License-Identifier: MIT */
/* Freeing what queued work reads. */
#include "program.h"

int main(void) {
  start();
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
  elu_floats(from, to, COUNT, NULL);
#ifdef FIXED
  aclrtSynchronizeStream(NULL);
#endif
  aclrtFree(from);
  aclrtSynchronizeStream(NULL);
  aclrtFree(to);
  return finish();
}
