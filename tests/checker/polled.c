/* SPDX-License-Identifier: MIT */
/* polled elapsed|waits|nothing: how the host learns that a result is there before it copies it and frees its memory. */
#include "program.h"

int main(int count, char** arguments) {
  start();
  const char* const what = count > 1 ? arguments[1] : "";
  aclrtStream stream = NULL, other = NULL;
  aclrtEvent begin = NULL, end = NULL;
  aclrtCreateStream(&stream);
  aclrtCreateStream(&other);
  aclrtCreateEvent(&begin);
  aclrtCreateEvent(&end);
  void *from = device_floats(COUNT), *to = device_copy(NULL, sizeof(float) * COUNT);
  aclTensor *in = vector(from, ACL_FLOAT, COUNT), *out = vector(to, ACL_FLOAT, COUNT);
  aclrtRecordEvent(begin, stream);
  elu(in, out, stream);
  aclrtRecordEvent(end, stream);
  int tries = 1000000;
  if (strcmp(what, "elapsed") == 0) {
    float milliseconds = 0;
    while (aclrtEventElapsedTime(&milliseconds, begin, end) != ACL_SUCCESS && tries-- > 0) continue;
  } else if (strcmp(what, "waits") == 0) {
    aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_NOT_READY;
    aclrtStreamWaitEvent(other, end);
    while (status != ACL_EVENT_WAIT_STATUS_COMPLETE && tries-- > 0) aclrtQueryEventWaitStatus(end, &status);
  }
  float values[COUNT];
  aclrtMemcpy(values, sizeof values, to, sizeof values, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtFree(from);
  aclrtFree(to);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtDestroyEvent(begin);
  aclrtDestroyEvent(end);
  aclrtDestroyStream(stream);
  aclrtDestroyStream(other);
  return finish();
}
