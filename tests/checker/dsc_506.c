/* SPDX-License-Identifier: MIT */
/* A scale that does not fit the sizes. */
#include "program.h"

#include "upsample.h"

int main(void) {
  start();
  upsample(1, 4, 8, WRONG_OR_RIGHT(3, 2));
  return finish();
}
