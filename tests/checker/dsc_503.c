/* SPDX-License-Identifier: MIT */
/* Label smoothing. */
#include "program.h"

#include "cross_entropy.h"

int main(void) {
  start();
  cross_entropy(ACL_INT64, WRONG_OR_RIGHT(0.1, 0), 0);
  return finish();
}
