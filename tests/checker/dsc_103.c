/* SPDX-License-Identifier: MIT */
/* A tensor over memory of the host. */
#include "program.h"

int main(void) {
  start();
  static float values[COUNT];
  void *device = device_copy(values, sizeof values), *to = device_copy(NULL, sizeof values);
  elu_floats(WRONG_OR_RIGHT((void*)values, device), to, COUNT, NULL);
  aclrtSynchronizeStream(NULL);
  aclrtFree(device);
  aclrtFree(to);
  return finish();
}
