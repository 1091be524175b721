/* SPDX-License-Identifier: MIT */
/* results DTYPE STEP SCALE AT: elements of that dtype, STEP apart, that are 0 but for the one at AT: 2 * SCALE. */
#include "program.h"

#define ELEMENTS 40 /* more than a vector of any dtype has */

int main(int count, char** arguments) {
  if (count != 5) return 1;
  const aclDataType dtype = (aclDataType)atoi(arguments[1]);
  const float one = 1, scale = strtof(arguments[3], NULL);
  float values[ELEMENTS] = {0};
  values[atoi(arguments[4])] = 2;
  const int64_t elements = ELEMENTS, step = atoi(arguments[2]), reach = (elements - 1) * step + 1;
  start();
  aclScalar *o = aclCreateScalar((void*)&one, ACL_FLOAT), *s = aclCreateScalar((void*)&scale, ACL_FLOAT);
  void *from = device_copy(values, sizeof values), *to = device_copy(NULL, 16 * (size_t)reach);
  aclTensor* in = vector(from, ACL_FLOAT, elements);
  aclTensor* out = aclCreateTensor(&elements, 1, dtype, &step, 0, ACL_FORMAT_ND, &reach, 1, to);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclnnEluGetWorkspaceSize(in, o, s, o, out, &size, &executor);
  aclnnElu(NULL, size, executor, NULL);
  aclrtSynchronizeStream(NULL);
  aclDestroyScalar(o);
  aclDestroyScalar(s);
  aclDestroyTensor(in);
  aclDestroyTensor(out);
  aclrtFree(from);
  aclrtFree(to);
  return finish();
}
