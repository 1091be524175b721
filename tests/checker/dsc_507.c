/* SPDX-License-Identifier: MIT */
/* An empty volume. */
#include "program.h"

#include "upsample.h"

int main(void) {
  start();
  upsample(WRONG_OR_RIGHT(0, 1), 4, 8, 0);
  return finish();
}
