/* SPDX-License-Identifier: MIT */
/* A data address that is not a multiple of 32. */
#include "program.h"

int main(void) {
  start();
  const int64_t count = COUNT, offset = 1;
  void *from = device_floats(COUNT + 1), *to = device_copy(NULL, sizeof(float) * COUNT);
  aclTensor* in = aclCreateTensor(&count, 1, ACL_FLOAT, NULL, WRONG_OR_RIGHT(0, offset), ACL_FORMAT_ND, &count, 1,
                                  (float*)from + WRONG_OR_RIGHT(offset, 0));
  aclTensor* out = vector(to, ACL_FLOAT, COUNT);
  elu(in, out, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
