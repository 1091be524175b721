/* SPDX-License-Identifier: MIT */
/* A copy to the device that says it is one to the host. */
#include "program.h"

int main(void) {
  start();
  const float values[COUNT] = {0};
  void* memory = device_copy(NULL, sizeof values);
  aclrtMemcpy(memory, sizeof values, values, sizeof values,
              WRONG_OR_RIGHT(ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE));
  aclrtFree(memory);
  return finish();
}
