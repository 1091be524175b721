/* SPDX-License-Identifier: MIT */
/* A context that nobody destroys before aclFinalize. */
#include "program.h"

int main(void) {
  start();
  aclrtContext context = NULL;
  aclrtCreateContext(&context, 0);
#ifdef FIXED
  aclrtDestroyContext(context);
#endif
  aclFinalize();
  return 0;
}
