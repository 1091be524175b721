/* SPDX-License-Identifier: MIT */
/* A mean in which every target is ignored. */
#include "program.h"

#include "loss.h"

int main(void) {
  start();
  mean_loss(-100, WRONG_OR_RIGHT(-100, 2));
  return finish();
}
