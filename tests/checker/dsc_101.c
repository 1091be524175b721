/* SPDX-License-Identifier: MIT */
/* A view that is longer than its memory, beyond the padding. */
#include "program.h"

int main(void) {
  start();
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * 1024);
  elu_floats(from, to, WRONG_OR_RIGHT(1024, COUNT), NULL);
  aclrtSynchronizeStream(NULL);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
