/* SPDX-License-Identifier: MIT */
/* elu of one element that a view repeats. */
#include "program.h"

int main(void) {
  start();
  const int64_t elements = COUNT, stride = 0, one = 1;
  void *from = device_floats(1), *to = device_copy(NULL, sizeof(float) * COUNT);
  aclTensor* in = aclCreateTensor(&elements, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &one, 1, from);
  aclTensor* out = vector(to, ACL_FLOAT, elements);
  elu(in, out, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
