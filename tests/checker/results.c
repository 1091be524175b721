/* SPDX-License-Identifier: MIT */
/* results DTYPE STEP SCALE: three elements of that dtype, STEP apart, of which the last is 2 * SCALE. */
#include "program.h"

int main(int count, char** arguments) {
  if (count != 4) return 1;
  const aclDataType dtype = (aclDataType)atoi(arguments[1]);
  const float values[3] = {0, 0, 2}, one = 1, scale = strtof(arguments[3], NULL);
  const int64_t elements = 3, step = atoi(arguments[2]), reach = 2 * step + 1;
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
