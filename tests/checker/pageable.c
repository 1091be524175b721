/* SPDX-License-Identifier: MIT */
/* A copy of pageable memory in a stream is over when the call returns: no race. */
#include "program.h"

int main(void) {
  start();
  float values[COUNT] = {0};
  void* memory = device_copy(NULL, sizeof values);
  aclrtMemcpyAsync(memory, sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE, NULL);
  aclrtMemcpy(values, sizeof values, memory, sizeof values, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtFree(memory);
  return finish();
}
