/* SPDX-License-Identifier: MIT */
/* What only a card shows, in the way the argument says: a kernel that fails, memory that is not there, two streams,
   an end with many. */
#include "tests/checker/program.h"

static const char* text(void) {
  const char* message = aclGetRecentErrMsg();
  return message ? message : "";
}

/* A kernel writes where nothing is: the failure is told at the synchronisation. */
static int fault(aclrtStream stream) {
  char* memory = (char*)device_floats(COUNT);
  printf("queued: %d\n", elu_floats(memory, memory + ((int64_t)1 << 42), COUNT, stream));
  const int status = aclrtSynchronizeStream(stream);
  printf("synchronised: %d %s\n", status, text());
  return 0;
}

/* All memory is taken; then what is given back is enough to work with. */
static int memory(aclrtStream stream) {
  enum { kMost = 4096 };
  static void* blocks[kMost];
  size_t bytes = (size_t)8 << 30;
  int taken = 0, status = 0;
  while (taken < kMost && bytes >= (size_t)2 << 20) {
    status = aclrtMalloc(&blocks[taken], bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (status == 0)
      ++taken;
    else
      bytes /= 2;
  }
  printf("full: %d after %s blocks, %s\n", status, taken > 0 ? "some" : "no", text());
  while (taken > 0) aclrtFree(blocks[--taken]);
  void *from = device_floats(COUNT), *to = device_copy(NULL, COUNT * sizeof(float));
  status = elu_floats(from, to, COUNT, stream);
  if (status == 0) status = aclrtSynchronizeStream(stream);
  float last = 0;
  aclrtMemcpy(&last, sizeof(last), (float*)to + COUNT - 1, sizeof(last), ACL_MEMCPY_DEVICE_TO_HOST);
  printf("after: %d, %.0f\n", status, (double)last);
  return 0;
}

/* The loss of one very long row is the work of one block: of two streams both are under way at once. */
static void queue_long_row(aclrtStream stream, int64_t classes, aclrtEvent begin, aclrtEvent end) {
  const int64_t matrix[2] = {1, classes}, one = 1;
  int64_t target = 0;
  void* scores = device_copy(NULL, sizeof(float) * (size_t)classes);
  aclrtMemset(scores, sizeof(float) * (size_t)classes, 0, sizeof(float) * (size_t)classes);
  aclTensor* in = tensor(scores, ACL_FLOAT, 2, matrix);
  aclTensor* label = tensor(device_copy(&target, sizeof(target)), ACL_INT64, 1, &one);
  aclTensor* loss = tensor(device_copy(NULL, 4), ACL_FLOAT, 1, &one);
  aclTensor* log_prob = tensor(device_copy(NULL, sizeof(float) * (size_t)classes), ACL_FLOAT, 2, matrix);
  aclTensor* zloss = tensor(device_copy(NULL, 4), ACL_FLOAT, 1, &one);
  aclTensor* lse = tensor(device_copy(NULL, 4), ACL_FLOAT, 1, &one);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  char none[] = "none";
  int status = aclnnCrossEntropyLossGetWorkspaceSize(in, label, NULL, none, -100, 0, 0, false, loss, log_prob, zloss,
                                                     lse, &size, &executor);
  aclrtRecordEvent(begin, stream);
  if (status == 0) status = aclnnCrossEntropyLoss(NULL, size, executor, stream);
  aclrtRecordEvent(end, stream);
  if (status != 0) printf("%d %s\n", status, text());
}
static int overlap(aclrtStream stream) {
  aclrtStream other;
  aclrtCreateStream(&other);
  aclrtEvent events[4];
  for (int i = 0; i < 4; ++i) aclrtCreateEvent(&events[i]);
  for (int round = 0; round < 2; ++round) { /* the first loads the kernel */
    queue_long_row(stream, 1 << 24, events[0], events[1]);
    queue_long_row(other, 1 << 24, events[2], events[3]);
    aclrtSynchronizeStream(stream);
    aclrtSynchronizeStream(other);
  }
  float first = 0, second_begins = 0;
  aclrtEventElapsedTime(&first, events[0], events[1]);
  aclrtEventElapsedTime(&second_begins, events[0], events[2]);
  puts(second_begins < first ? "the second began before the first ended" : "one after the other");
  return 0;
}

/* The process ends while the threads of its streams do. */
static void nothing(void* argument) { (void)argument; }
static int leave(void) {
  enum { kStreams = 32 };
  aclrtStream streams[kStreams];
  for (int i = 0; i < kStreams; ++i) {
    aclrtCreateStream(&streams[i]);
    aclrtLaunchHostFunc(streams[i], nothing, NULL);
  }
  for (int i = 0; i < kStreams; ++i) aclrtSynchronizeStream(streams[i]);
  return finish();
}

int main(int count, char** arguments) {
  aclrtStream stream;
  aclInit(NULL);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  const char* how = count > 1 ? arguments[1] : "";
  if (strcmp(how, "fault") == 0) return fault(stream);
  if (strcmp(how, "memory") == 0) return memory(stream);
  if (strcmp(how, "overlap") == 0) return overlap(stream);
  if (strcmp(how, "leave") == 0) return leave();
  return 2;
}
