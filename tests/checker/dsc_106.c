/* SPDX-License-Identifier: MIT */
/* An output that begins in the middle of its input. */
#include "program.h"

int main(void) {
  start();
  void *memory = device_floats(2 * COUNT), *other = device_copy(NULL, sizeof(float) * COUNT);
  elu_floats(memory, WRONG_OR_RIGHT((char*)memory + 32, (char*)other), COUNT, NULL);
  elu_floats(memory, memory, COUNT, NULL); /* in place: right */
  aclrtSynchronizeStream(NULL);
  aclrtFree(memory);
  aclrtFree(other);
  return finish();
}
