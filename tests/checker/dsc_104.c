/* SPDX-License-Identifier: MIT */
/* A tensor over memory that was freed. */
#include "program.h"

int main(void) {
  start();
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
#ifndef FIXED
  aclrtFree(from);
#endif
  elu_floats(from, to, COUNT, NULL);
  aclrtSynchronizeStream(NULL);
#ifdef FIXED
  aclrtFree(from);
#endif
  aclrtFree(to);
  return finish();
}
