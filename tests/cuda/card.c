/* SPDX-License-Identifier: MIT */
/* What only a card shows, in the way the argument says: a kernel that fails, memory that is not there, rows that blocks
   share, two streams, an end with many, two cards. */
#include "tests/checker/program.h"

static const char* text(void) {
  const char* message = aclGetRecentErrMsg();
  return message ? message : "";
}

/* A kernel writes where nothing is: the failure is told at the synchronisation, also where the program has looked
   before whether the stream is done. */
static int fault(aclrtStream stream, int looks) {
  char* memory = (char*)device_floats(COUNT);
  printf("queued: %d\n", elu_floats(memory, memory + ((int64_t)1 << 42), COUNT, stream));
  aclrtStreamStatus seen = ACL_STREAM_STATUS_NOT_READY;
  while (looks && aclrtStreamQuery(stream, &seen) == 0 && seen == ACL_STREAM_STATUS_NOT_READY) continue;
  const int status = aclrtSynchronizeStream(stream);
  printf("synchronised: %d %s\n", status, text());
  return 0;
}

/* Takes memory until there is no block of so many bytes left; how many were taken, and how the last was refused. */
enum { MOST_BLOCKS = 4096 };
static int take_all(void** blocks, size_t least, int* status) {
  int taken = 0;
  for (size_t bytes = (size_t)8 << 30; taken < MOST_BLOCKS && bytes >= least;) {
    *status = aclrtMalloc(&blocks[taken], bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (*status == 0)
      ++taken;
    else
      bytes /= 2;
  }
  return taken;
}

/* All memory is taken; then what is given back is enough to work with. */
static int memory(aclrtStream stream) {
  static void* blocks[MOST_BLOCKS];
  int status = 0, taken = take_all(blocks, (size_t)2 << 20, &status);
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

/* The loss of rows of scores of a dtype. */
static void queue_loss(aclrtStream stream, int64_t rows, int64_t classes, aclDataType dtype, void* scores,
                       void* log_prob, void* targets, void* loss, const char* reduction, double smoothing) {
  const int64_t matrix[2] = {rows, classes}, one = 1;
  const int64_t losses = strcmp(reduction, "none") == 0 ? rows : 1;
  aclTensor* in = tensor(scores, dtype, 2, matrix);
  aclTensor* label = tensor(targets, ACL_INT64, 1, &rows);
  aclTensor* out = tensor(loss, dtype, 1, &losses);
  aclTensor* log_probs = tensor(log_prob, dtype, 2, matrix);
  aclTensor* zloss = tensor(device_copy(NULL, 4), dtype, 1, &one);
  aclTensor* lse = tensor(device_copy(NULL, 4), dtype, 1, &one);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  char name[8];
  strcpy(name, reduction);
  int status = aclnnCrossEntropyLossGetWorkspaceSize(in, label, NULL, name, -100, smoothing, 0, false, out, log_probs,
                                                     zloss, lse, &size, &executor);
  if (status == 0) status = aclnnCrossEntropyLoss(NULL, size, executor, stream);
  if (status != 0) printf("%d %s\n", status, text());
}

/* What is in memory, as one number. */
static uint64_t digest(const void* memory, size_t bytes) {
  uint32_t* words = malloc(bytes);
  aclrtMemcpy(words, bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  uint64_t sum = 14695981039346656037u;
  for (size_t i = 0; i < bytes / sizeof(*words); ++i) sum = (sum ^ words[i]) * 1099511628211u;
  free(words);
  return sum;
}

/* Rows so long that blocks share them, several after each other in a team, rows that no team can keep, and those that
   warps share, or share the parts of, and so many that a team adds the losses of several; those of which each block of
   an H200 has more than its ring holds, and takes others, in every form of the ring; short ones, of which each warp
   takes more than it begins with; also in place, where a label's score must be read before it is written over. */
static int rows(aclrtStream stream) {
  static const struct {
    int64_t rows, classes;
    double smoothing;
    aclDataType dtype;
  } kShapes[] = {{16401, 16388, 0, ACL_FLOAT},  {4200, 20001, 0, ACL_FLOAT},    {2100, 18001, 0.25, ACL_FLOAT},
                 {2100, 50257, 0, ACL_FLOAT},   {9, 128256, 0, ACL_FLOAT},      {2, 600001, 0, ACL_FLOAT},
                 {8000, 5004, 0, ACL_FLOAT},    {70000, 1001, 0, ACL_FLOAT},    {140000, 600, 0, ACL_FLOAT},
                 {270000, 520, 0, ACL_FLOAT},   {40001, 2100, 0.25, ACL_FLOAT}, {70000, 1000, 0, ACL_FLOAT16},
                 {70000, 1001, 0, ACL_FLOAT16}, {33001, 1303, 0, ACL_FLOAT},    {24003, 600, 0, ACL_FLOAT16},
                 {11003, 1999, 0, ACL_FLOAT16}, {33003, 2051, 0, ACL_FLOAT16},  {250001, 128, 0, ACL_FLOAT16},
                 {250001, 128, 0, ACL_FLOAT},   {500001, 48, 0, ACL_FLOAT16}};
  int differ = 0;
  for (size_t shape = 0; shape < sizeof(kShapes) / sizeof(*kShapes); ++shape) {
    const int64_t count = kShapes[shape].rows, classes = kShapes[shape].classes;
    const aclDataType dtype = kShapes[shape].dtype;
    const size_t elements = (size_t)(count * classes), bytes = elements * aclDataTypeSize(dtype);
    float* values = malloc(elements * sizeof(float));
    int64_t* labels = malloc((size_t)count * sizeof(int64_t));
    for (size_t i = 0; i < elements; ++i) {
      const float value = (float)((uint32_t)i * 2654435761u >> 16) / 4096 - 8;
      if (dtype == ACL_FLOAT)
        values[i] = value;
      else
        ((aclFloat16*)values)[i] = aclFloatToFloat16(value);
    }
    for (int64_t i = 0; i < count; ++i) labels[i] = i * 7919 % classes;
    void *scores = device_copy(values, bytes), *out = device_copy(NULL, bytes);
    const float none = 0; /* a half of it stays */
    void *targets = device_copy(labels, (size_t)count * sizeof(int64_t)), *loss = device_copy(&none, sizeof(none));
    uint64_t first[2];
    for (int in_place = 0; in_place < 2; ++in_place) {
      void* const to = in_place ? scores : out;
      queue_loss(stream, count, classes, dtype, scores, to, targets, loss, "mean", kShapes[shape].smoothing);
      const int status = aclrtSynchronizeStream(stream);
      const uint64_t both[2] = {digest(loss, sizeof(float)), digest(to, bytes)};
      if (in_place) differ |= memcmp(first, both, sizeof(both)) != 0;
      memcpy(first, both, sizeof(both));
      printf("%lld x %lld%s: %d, %016llx %016llx\n", (long long)count, (long long)classes, in_place ? " in place" : "",
             status, (unsigned long long)both[0], (unsigned long long)both[1]);
    }
    free(values);
    free(labels);
    aclrtFree(scores);
    aclrtFree(out);
  }
  return differ;
}

/* The loss of one very long row is the work of one block: of two streams both are under way at once. */
static void queue_long_row(aclrtStream stream, int64_t classes, aclrtEvent begin, aclrtEvent end) {
  const size_t bytes = sizeof(float) * (size_t)classes;
  const int64_t target = 0;
  void* scores = device_copy(NULL, bytes);
  aclrtMemset(scores, bytes, 0, bytes);
  void *out = device_copy(NULL, bytes), *targets = device_copy(&target, sizeof(target)), *loss = device_copy(NULL, 4);
  aclrtRecordEvent(begin, stream);
  queue_loss(stream, 1, classes, ACL_FLOAT, scores, out, targets, loss, "none", 0);
  aclrtRecordEvent(end, stream);
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

/* A function that a stream of one card calls uses the other; the stream goes on with its own. */
static void use_other(void* status) {
  int* const result = (int*)status;
  *result = aclrtSetDevice(1);
  void* memory = device_floats(COUNT);
  if (*result == 0) *result = aclrtMemset(memory, sizeof(float), 0, sizeof(float));
  if (*result == 0) *result = aclrtFree(memory);
}
static int cards(aclrtStream stream) {
  void *from = device_floats(COUNT), *to = device_copy(NULL, COUNT * sizeof(float));
  aclrtEvent event;
  aclrtCreateEvent(&event);
  int used = -1, status = 0;
  for (int i = 0; i < 2 && status == 0; ++i) { /* what is kept for a later use is right, too */
    aclrtLaunchHostFunc(stream, use_other, &used);
    status = elu_floats(from, to, COUNT, stream);
    if (status == 0) status = aclrtRecordEvent(event, stream);
    if (status == 0) status = aclrtFree(device_copy(NULL, 4)); /* in turn, behind the function */
    if (status == 0) status = aclrtSynchronizeEvent(event);
    if (status == 0) status = aclrtSynchronizeStream(stream);
  }
  float last = 0;
  aclrtMemcpy(&last, sizeof(last), (float*)to + COUNT - 1, sizeof(last), ACL_MEMCPY_DEVICE_TO_HOST);
  printf("the other: %d, this one: %d, %.0f %s\n", used, status, (double)last, text());
  return 0;
}

/* The card refuses at first. */
static int again(void) {
  const int first = aclrtSetDevice(0);
  printf("first: %d, then: %d\n", first, aclrtSetDevice(0));
  return 0;
}

/* A stream needs some of the card's memory. */
static int crowded(void) {
  static void* blocks[MOST_BLOCKS];
  aclrtStream other = NULL;
  int status = 0, taken = take_all(blocks, 256, &status);
  status = aclrtCreateStream(&other);
  printf("first: %d, %s, ", status, text());
  while (taken > 0) aclrtFree(blocks[--taken]);
  printf("then: %d\n", aclrtCreateStream(&other));
  return 0;
}

/* An address between two elements is refused, and what follows is not. */
static int between(aclrtStream stream) {
  char* from = device_floats(COUNT);
  void* to = device_copy(NULL, COUNT * sizeof(float));
  const int first = elu_floats(from + 2, to, COUNT - 1, stream);
  printf("first: %d, %s, ", first, text());
  const int then = elu_floats(from, to, COUNT, stream);
  printf("then: %d, %d\n", then, aclrtSynchronizeStream(stream));
  return 0;
}

/* Memory of the host is any card's: a copy to another than the one it was asked of still needs it. */
static volatile int may_go_on = 0;
static void wait_a_while(void* argument) {
  (void)argument;
  while (!may_go_on) continue;
}
static int pinned(void) {
  void* host = NULL;
  aclrtMallocHost(&host, COUNT);
  memset(host, 7, COUNT);
  aclrtStream other;
  int status = aclrtSetDevice(1);
  if (status == 0) status = aclrtCreateStream(&other);
  void* memory = device_copy(NULL, COUNT);
  if (status == 0) status = aclrtLaunchHostFunc(other, wait_a_while, NULL);
  if (status == 0) status = aclrtMemcpyAsync(memory, COUNT, host, COUNT, ACL_MEMCPY_HOST_TO_DEVICE, other);
  if (status == 0) status = aclrtFreeHost(host);
  may_go_on = 1;
  if (status == 0) status = aclrtSynchronizeStream(other);
  char last = 0;
  aclrtMemcpy(&last, 1, (char*)memory + COUNT - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("pinned: %d, %d %s\n", status, last, text());
  return 0;
}

/* An event that the card does not record, or whose wait it cannot see the end of: `held` until another stream waits. */
static int unrecorded(aclrtStream stream, int held) {
  aclrtEvent event;
  aclrtStream other;
  aclrtEventRecordedStatus seen = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  int status = aclrtCreateEvent(&event);
  if (status == 0) status = aclrtCreateStream(&other);
  if (status == 0 && held) status = aclrtLaunchHostFunc(stream, wait_a_while, NULL);
  if (status == 0) status = aclrtRecordEvent(event, stream);
  if (status == 0 && held) status = aclrtStreamWaitEvent(other, event);
  may_go_on = 1;
  printf("recorded: %d, event: %d", status, aclrtSynchronizeEvent(event));
  printf(" asked: %d", aclrtQueryEventStatus(event, &seen));
  printf(" complete: %d, ", seen == ACL_EVENT_RECORDED_STATUS_COMPLETE);
  if (!held) aclrtStreamWaitEvent(other, event);
  printf("other stream: %d, ", aclrtSynchronizeStream(other));
  printf("stream: %d %s, ", aclrtSynchronizeStream(stream), text());
  status = aclrtRecordEvent(event, stream);
  if (status == 0) status = aclrtStreamWaitEvent(other, event);
  if (status == 0) status = aclrtSynchronizeStream(other);
  printf("then: %d, %d\n", status, aclrtSynchronizeEvent(event));
  return 0;
}

int main(int count, char** arguments) {
  aclrtStream stream;
  const char* how = count > 1 ? arguments[1] : "";
  aclInit(NULL);
  if (strcmp(how, "again") == 0) return again();
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  if (strcmp(how, "fault") == 0) return fault(stream, 0);
  if (strcmp(how, "seen") == 0) return fault(stream, 1);
  if (strcmp(how, "cards") == 0) return cards(stream);
  if (strcmp(how, "crowded") == 0) return crowded();
  if (strcmp(how, "between") == 0) return between(stream);
  if (strcmp(how, "pinned") == 0) return pinned();
  if (strcmp(how, "unrecorded") == 0) return unrecorded(stream, 0);
  if (strcmp(how, "unwaited") == 0) return unrecorded(stream, 1);
  if (strcmp(how, "memory") == 0) return memory(stream);
  if (strcmp(how, "rows") == 0) return rows(stream);
  if (strcmp(how, "overlap") == 0) return overlap(stream);
  if (strcmp(how, "leave") == 0) return leave();
  return 2;
}
