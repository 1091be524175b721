/* SPDX-License-Identifier: MIT */
/* Memory of the device and of the host that nobody frees; the program does not call aclFinalize either. */
#include "program.h"

int main(void) {
  void *device = NULL, *host = NULL;
  aclrtSetDevice(0);
  aclrtMalloc(&device, 1000, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMallocHost(&host, 1000);
#ifdef FIXED
  aclrtFree(device);
  aclrtFreeHost(host);
#endif
  return 0;
}
