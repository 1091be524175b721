// SPDX-License-Identifier: MIT
// Starting the thread of a stream.
#include "src/base/stream_thread.h"

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>

#include "src/base/text.h"

namespace descend {
namespace {

// Made when the library is loaded, so that it can be said without memory.
const Status& no_memory = *new Status(Code::kOutOfMemory, "there is no memory for the thread of a stream");

struct Beginning {
  std::shared_ptr<void> queue;
  void (*run)(std::shared_ptr<void> queue);
};

void* begin(void* beginning) {
  pthread_setname_np(pthread_self(), "descend-stream");
  const std::unique_ptr<Beginning> mine(static_cast<Beginning*>(beginning));
  mine->run(std::move(mine->queue));
  return nullptr;
}

}  // namespace

Status start_stream_thread(std::shared_ptr<void> queue, void (*run)(std::shared_ptr<void> queue)) {
  std::unique_ptr<Beginning> beginning(new (std::nothrow) Beginning{std::move(queue), run});
  if (beginning == nullptr) return no_memory;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < kLeastStack)
    pthread_attr_setstacksize(&attributes, kLeastStack);
  // Signals are for the program's threads, but those that a function of the program brings upon itself: of a fault that
  // is blocked nobody hears.
  sigset_t others, before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, begin, beginning.get());
  if (error == 0) (void)beginning.release();       // the thread's; before a signal that has waited may be handled
  pthread_sigmask(SIG_SETMASK, &before, nullptr);  // before what may throw
  pthread_attr_destroy(&attributes);
  if (error == 0) return {};
  try {
    return {Code::kInternal,
            cat("the thread of a stream could not be started: ", std::generic_category().message(error))};
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

}  // namespace descend
