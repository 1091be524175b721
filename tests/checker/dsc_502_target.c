/* SPDX-License-Identifier: MIT */
/* Targets of a dtype that the product does not have. */
#include "program.h"

#include "cross_entropy.h"

int main(void) {
  setenv("DESCEND_SOC", WRONG_OR_RIGHT("Ascend910B1", "Ascend950"), 1);
  start();
  cross_entropy(ACL_INT32, 0, 0);
  return finish();
}
