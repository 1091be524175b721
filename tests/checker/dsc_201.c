/* SPDX-License-Identifier: MIT */
/* One stream writes what another reads. */
#include "program.h"

int main(void) {
  start();
  aclrtStream first = NULL, second = NULL;
  aclrtEvent event = NULL;
  aclrtCreateStream(&first);
  aclrtCreateStream(&second);
  aclrtCreateEvent(&event);
  const size_t bytes = sizeof(float) * COUNT;
  void *a = device_floats(COUNT), *b = device_copy(NULL, bytes), *c = device_copy(NULL, bytes);
  elu_floats(a, b, COUNT, first);
#ifdef FIXED
  aclrtRecordEvent(event, first);
  aclrtStreamWaitEvent(second, event);
#endif
  elu_floats(b, c, COUNT, second);
  aclrtSynchronizeStream(first);
  aclrtSynchronizeStream(second);
  aclrtFree(a);
  aclrtFree(b);
  aclrtFree(c);
  aclrtDestroyEvent(event);
  aclrtDestroyStream(first);
  aclrtDestroyStream(second);
  return finish();
}
