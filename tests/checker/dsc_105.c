/* SPDX-License-Identifier: MIT */
/* A tensor at an address where there is nothing. */
#include "program.h"

int main(void) {
  start();
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
  elu_floats(WRONG_OR_RIGHT((void*)0x12345678000, from), to, COUNT, NULL);
  aclrtSynchronizeStream(NULL);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
