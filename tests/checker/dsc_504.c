/* SPDX-License-Identifier: MIT */
/* A z-loss. */
#include "program.h"

#include "cross_entropy.h"

int main(void) {
  start();
  cross_entropy(ACL_INT64, 0, WRONG_OR_RIGHT(1e-4, 0));
  return finish();
}
