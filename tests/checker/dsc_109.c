/* SPDX-License-Identifier: MIT */
/* The host looks at a result through the device's pointer. */
#include "program.h"

int main(void) {
  start();
  float first = 0;
  void* memory = device_floats(COUNT);
#ifdef FIXED
  aclrtMemcpy(&first, sizeof first, memory, sizeof first, ACL_MEMCPY_DEVICE_TO_HOST);
#else
  first = *(volatile float*)memory;
#endif
  printf("%g\n", first);
  aclrtFree(memory);
  return finish();
}
