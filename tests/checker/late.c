/* SPDX-License-Identifier: MIT */
/* late LIBRARY [forgetful]: opens the library late, and cleans up in a handler that was registered before that. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void* library;
static void* memory;

static void clean_up(void) {
  ((int (*)(void*))dlsym(library, "aclrtFree"))(memory);
  ((int (*)(int))dlsym(library, "aclrtResetDevice"))(0);
  ((int (*)(void))dlsym(library, "aclFinalize"))();
  puts("cleaned up");
}

int main(int count, char** arguments) {
  atexit(clean_up);
  library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) return 1;
  ((int (*)(const char*))dlsym(library, "aclInit"))(NULL);
  ((int (*)(int))dlsym(library, "aclrtSetDevice"))(0);
  ((int (*)(void**, size_t, int))dlsym(library, "aclrtMalloc"))(&memory, 64, 0);
  if (count > 2) ((int (*)(void**, size_t, int))dlsym(library, "aclrtMalloc"))(&memory, 64, 0); /* forgets the first */
  return 0;
}
