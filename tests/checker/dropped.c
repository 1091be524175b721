/* SPDX-License-Identifier: MIT */
/* A function of the host that never returns: its stream dropped it after a failure ("failed") or with the thread for
 * its callbacks ("unsubscribed"), or it ended the thread it ran on ("ended").  What follows it is judged without it:
 * the next function may copy and free what the work before it used, and nobody has written what is read last. */
#include "program.h"

#include <pthread.h>

static const size_t kBytes = sizeof(float) * COUNT;

static void do_nothing(void* unused) { (void)unused; }
static void end_thread(void* unused) {
  (void)unused;
  pthread_exit(NULL);
}
static void take(void* memory) {
  float host[COUNT];
  aclrtSetDevice(0);
  aclrtMemcpy(host, kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtFree(memory);
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  aclrtStream stream = NULL;
  start();
  aclrtCreateStream(&stream);
  void *used = device_floats(COUNT), *unwritten = device_copy(NULL, kBytes);
  if (strcmp(how, "failed") == 0) {
    aclrtSetStreamFailureMode(stream, 1);
    elu_floats(used, used, COUNT << 16, stream); /* more than there is */
    aclrtLaunchHostFunc(stream, do_nothing, NULL);
    aclrtSynchronizeStream(stream);
  } else if (strcmp(how, "unsubscribed") == 0) {
    aclrtSubscribeReport(pthread_self(), stream);
    aclrtLaunchCallback(do_nothing, NULL, ACL_CALLBACK_BLOCK, stream);
    aclrtUnSubscribeReport(pthread_self(), stream);
  } else {
    aclrtLaunchHostFunc(stream, end_thread, NULL);
  }
  elu_floats(used, used, COUNT, stream);
  aclrtLaunchHostFunc(stream, take, used);
  aclrtSynchronizeStream(stream);
  elu_floats(unwritten, unwritten, COUNT, stream);
  aclrtSynchronizeStream(stream);
  aclrtFree(unwritten);
  aclrtDestroyStream(stream);
  return finish();
}
