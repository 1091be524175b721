/* SPDX-License-Identifier: MIT */
/* Ways of the host to device memory, by the program's argument. */
#include "program.h"

#include <pthread.h>

static void* on_a_thread(void* memory) {
  printf("%g\n", (double)*(volatile float*)memory);
  return NULL;
}

static void in_a_stream(void* memory) { *(volatile float*)memory = 1; }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  char bytes[sizeof(float) * COUNT] = {0};
  pthread_t thread;
  start();
  void* memory = device_floats(COUNT);
  if (strcmp(how, "copy") == 0) memcpy(bytes, memory, sizeof bytes);
  if (strcmp(how, "print") == 0) printf("%s\n", (const char*)memory);
  if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, on_a_thread, memory) == 0) pthread_join(thread, NULL);
  if (strcmp(how, "stream") == 0 && aclrtLaunchHostFunc(NULL, in_a_stream, memory) == 0) aclrtSynchronizeStream(NULL);
  aclrtFree(memory);
  if (strcmp(how, "freed") == 0) *(volatile float*)memory = bytes[0];
  return finish();
}
