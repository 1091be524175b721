/* SPDX-License-Identifier: MIT */
/* A target that is no class. */
#include "program.h"

#include "loss.h"

int main(void) {
  start();
  mean_loss(1, WRONG_OR_RIGHT(3, 2));
  return finish();
}
