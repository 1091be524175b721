/* SPDX-License-Identifier: MIT */
/* Threads with a stream each, events between streams, callbacks, pinned memory: all of it right. */
#include "program.h"

#include <pthread.h>

#define THREADS 8
#define ROUNDS 20

static void count(void* counter) { __atomic_add_fetch((int*)counter, 1, __ATOMIC_RELAXED); }

static void* work(void* counter) {
  aclrtStream first = NULL, second = NULL;
  aclrtEvent event = NULL;
  float* host = NULL;
  const size_t bytes = sizeof(float) * COUNT;
  aclrtSetDevice(0);
  aclrtCreateStream(&first);
  aclrtCreateStream(&second);
  aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC);
  aclrtMallocHost((void**)&host, bytes);
  memset(host, 0, bytes);
  void *a = device_copy(NULL, bytes), *b = device_copy(NULL, bytes), *c = device_copy(NULL, bytes);
  for (int i = 0; i < ROUNDS; ++i) {
    aclrtMemcpyAsync(a, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE, first);
    elu_floats(a, b, COUNT, first);
    aclrtLaunchHostFunc(first, count, counter);
    aclrtRecordEvent(event, first);
    aclrtStreamWaitEvent(second, event);
    elu_floats(b, c, COUNT, second);
    aclrtMemcpyAsync(host, bytes, c, bytes, ACL_MEMCPY_DEVICE_TO_HOST, second);
    aclrtRecordEvent(event, second);
    if (i % 2)
      aclrtSynchronizeEvent(event);
    else
      aclrtStreamWaitEvent(first, event);
  }
  aclrtSynchronizeStream(second);
  aclrtSynchronizeStream(first);
  aclrtFree(a);
  aclrtFree(b);
  aclrtFree(c);
  aclrtFreeHost(host);
  aclrtDestroyEvent(event);
  aclrtDestroyStream(first);
  aclrtDestroyStream(second);
  aclrtResetDevice(0);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int counter = 0;
  start();
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, &counter);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", counter);
  return finish();
}
