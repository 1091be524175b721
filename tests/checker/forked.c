/* SPDX-License-Identifier: MIT */
/* forked WHO: the "parent", before it forks, or the "child" reads memory that nothing wrote.  A function of the host
   that could write it runs meanwhile, but only in the parent.  "frees": the child frees what the parent's stream will
   use.  Prints the status that the child ends with. */
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

static void read_at(const void* memory) {
  float value;
  aclrtMemcpy(&value, sizeof value, memory, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST);
}

static volatile int begun = 0, forked = 0;
static void wait_for_fork(void* unused) {
  (void)unused;
  begun = 1;
  while (!forked) usleep(1000);
}

int main(int count, char** arguments) {
  if (count != 2) return 1;
  start();
  void *memory = device_copy(NULL, sizeof(float)), *used = device_floats(COUNT);
  if (strcmp(arguments[1], "parent") == 0) read_at(memory);
  aclrtLaunchHostFunc(NULL, wait_for_fork, NULL);
  elu_floats(used, used, COUNT, NULL);
  while (!begun) usleep(1000);
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(arguments[1], "child") == 0) read_at(memory);
    if (strcmp(arguments[1], "frees") == 0) aclrtFree(used);
    aclFinalize(); /* the memory is the parent's to free */
    return 0;
  }
  forked = 1;
  int status = 0;
  waitpid(child, &status, 0);
  printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  aclrtSynchronizeStream(NULL);
  aclrtFree(memory);
  aclrtFree(used);
  return finish();
}
