/* SPDX-License-Identifier: MIT */
/* A plane of the small volume of 2^31 elements. */
#include "program.h"

#include "upsample.h"

int main(void) {
  start();
  plan_upsample((int64_t[]){1, WRONG_OR_RIGHT(1 << 15, 1 << 14), 1 << 16}, (int64_t[]){1, 1 << 15, 1 << 16});
  return finish();
}
