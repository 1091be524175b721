/* SPDX-License-Identifier: MIT */
/* A stream and an event that nobody destroys before aclFinalize. */
#include "program.h"

int main(void) {
  start();
  aclrtStream stream = NULL;
  aclrtEvent event = NULL;
  aclrtCreateStream(&stream);
  aclrtCreateEvent(&event);
#ifdef FIXED
  aclrtDestroyEvent(event);
  aclrtDestroyStream(stream);
#endif
  aclFinalize();
  return 0;
}
