/* SPDX-License-Identifier: MIT */
/* Floats in memory of a BF16 tensor: its elements are their halves. */
#include "program.h"

int main(void) {
  start();
  const WRONG_OR_RIGHT(float, uint16_t) values[2] = {WRONG_OR_RIGHT(-0.2f, 0xbe4d), WRONG_OR_RIGHT(0.1f, 0x3dcd)};
  void *from = device_copy(values, sizeof values), *to = device_copy(NULL, 2 * sizeof(uint16_t));
  aclTensor *in = vector(from, ACL_BF16, 2), *out = vector(to, ACL_BF16, 2);
  elu(in, out, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
