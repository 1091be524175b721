/* SPDX-License-Identifier: MIT */
/* Functions of the host in streams.  "race": the host reads what a stream writes behind a function that has not ended.
 * "order": a function writes what the stream, and one that waits for it, read behind it.  "unwritten": a function of
 * one stream excuses nothing on another.  "inside_race", "inside_unwritten": a function excuses nothing that it does
 * itself. */
#include "program.h"

#include <unistd.h>

static const size_t kBytes = sizeof(float) * COUNT;
static volatile int queued = 0;

static void wait_a_while(void* unused) {
  (void)unused;
  usleep(50000);
}
static void wait_for_all(void* unused) {
  (void)unused;
  while (!queued) usleep(1000);
}
static void copy(void* to) {
  float values[COUNT] = {0};
  aclrtSetDevice(0);
  while (!queued) usleep(1000);
  aclrtMemcpy(to, kBytes, values, kBytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

static aclrtStream other;
static void read_what_another_stream_writes(void* memory) {
  float values[COUNT];
  aclrtSetDevice(0);
  elu_floats(memory, memory, COUNT, other);
  aclrtMemcpy(values, kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
}
static void read_all(void* memory) {
  float values[COUNT];
  aclrtSetDevice(0);
  aclrtMemcpy(values, kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  float host[COUNT];
  aclrtStream first = NULL, second = NULL;
  aclrtEvent event = NULL;
  start();
  aclrtCreateStream(&first);
  aclrtCreateStream(&second);
  aclrtCreateEvent(&event);
  void *a = device_copy(NULL, kBytes), *b = device_copy(NULL, kBytes), *c = device_copy(NULL, kBytes);
  if (strcmp(what, "race") == 0) {
    void* written = device_floats(COUNT);
    aclrtLaunchHostFunc(first, wait_a_while, NULL);
    aclrtLaunchHostFunc(first, wait_for_all, NULL);
    elu_floats(written, b, COUNT, first);
    usleep(100000); /* the first function is over: that says nothing of what is behind the second */
    aclrtMemcpy(host, kBytes, b, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
    queued = 1;
    aclrtSynchronizeStream(first);
    aclrtFree(written);
  } else if (strcmp(what, "inside_race") == 0) {
    void* written = device_floats(COUNT);
    other = second;
    aclrtLaunchHostFunc(first, read_what_another_stream_writes, written);
    aclrtSynchronizeStream(first);
    aclrtSynchronizeStream(second);
    aclrtFree(written);
  } else if (strcmp(what, "inside_unwritten") == 0) {
    aclrtLaunchHostFunc(first, read_all, a);
    aclrtSynchronizeStream(first);
  } else if (strcmp(what, "order") == 0) {
    aclrtLaunchHostFunc(first, copy, a);
    elu_floats(a, b, COUNT, first);
    aclrtRecordEvent(event, first);
    aclrtStreamWaitEvent(second, event);
    elu_floats(a, c, COUNT, second);
    queued = 1;
    aclrtSynchronizeStream(second);
    aclrtSynchronizeStream(first);
  } else {
    aclrtLaunchHostFunc(first, wait_for_all, NULL);
    aclrtMemcpy(host, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
    queued = 1;
    aclrtSynchronizeStream(first);
  }
  aclrtFree(a);
  aclrtFree(b);
  aclrtFree(c);
  aclrtDestroyEvent(event);
  aclrtDestroyStream(second);
  aclrtDestroyStream(first);
  return finish();
}
