/* SPDX-License-Identifier: MIT */
/* 64 GiB, of which the page allows 60. */
#include "program.h"

#include "upsample.h"

int main(void) {
  start();
  plan_upsample((int64_t[]){1, 4, 4}, (int64_t[]){WRONG_OR_RIGHT(1024, 512), 4096, 4096});
  return finish();
}
