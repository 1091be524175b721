/* SPDX-License-Identifier: MIT */
/* 2^31 rows of the large volume. */
#include "program.h"

#include "upsample.h"

int main(void) {
  start();
  plan_upsample((int64_t[]){1, 1, 1}, (int64_t[]){1 << 15, WRONG_OR_RIGHT(1 << 16, 1 << 15), 1});
  return finish();
}
