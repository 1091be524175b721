/* SPDX-License-Identifier: MIT */
/* Copies and fills that are longer than their memory, and memory that is freed twice: refused, and said. */
#include "program.h"

int main(void) {
  char host[256] = {0};
  start();
  void* memory = device_copy(host, 64);
  if (aclrtMemcpy(host, 256, memory, 256, ACL_MEMCPY_DEVICE_TO_HOST) == 0) return 1;
  if (aclrtMemset(memory, 256, 0, 256) == 0) return 1;
  aclrtFree(memory);
  if (aclrtFree(memory) == 0) return 1;
  return finish();
}
