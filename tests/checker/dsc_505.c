/* SPDX-License-Identifier: MIT */
/* A dimension above 2^20. */
#include "program.h"

#include "upsample.h"

int main(void) {
  start();
  upsample(1, 4, WRONG_OR_RIGHT((1 << 20) + 1, 1 << 20), 0);
  return finish();
}
