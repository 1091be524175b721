// SPDX-License-Identifier: MIT
// What is behind a stream of the cuda device: CUDA's stream, and the work that waits for the host.
//
// Work is handed to CUDA at once, on the caller's thread, unless a function of the host or a wait with a time limit is
// before it.  Then it is queued here, and the queue's own thread hands it over when its turn has come.  So CUDA's
// streams never wait for the host: nothing a program does in a callback (calls of this API included, which CUDA forbids
// in its own callbacks) can hold up another stream, an allocation, or the loading of a kernel.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "src/backends/cuda/event.h"
#include "src/backends/cuda/launch.h"
#include "src/device/device.h"

namespace descend {

class CudaDevice;

class CudaQueue : public std::enable_shared_from_this<CudaQueue> {
 public:
  static Status make(CudaDevice& device, std::shared_ptr<CudaQueue>& made);
  explicit CudaQueue(CudaDevice& device) : device_(device) {}
  ~CudaQueue();
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  // Runs work that hands something to CUDA, if nothing is queued here; what fails is kept.  `always`: also after a
  // failure or when the stream is abandoned; must not fail or block.
  bool try_now(FunctionRef<Status()> work, bool always = false);
  // The same, in turn.  `awaits_others`: as Stream::call_host has it.  Calls `queued` before anything can be queued
  // behind the work.
  enum class Awaits { kNothing, kOthers };
  Status push(
      std::function<Status()> work, bool always = false, Awaits awaits = Awaits::kNothing,
      FunctionRef<void()> queued = [] {});
  // For who waits for something that is queued here: fails when there is no thread for it.
  Status go_on();
  // Whether some queue may have tasks for which no thread could be started; and for who then looks after all.
  static std::atomic<bool>& some_left();
  void go_on_if_left();
  // For a queued task: blocks until what was handed to CUDA before is done.
  Status wait_for_card();

  bool idle();
  Status synchronize(Timeout timeout);
  void stop_on_failure(bool stop);
  void on_failure(std::function<void(const Status&)> listener) { listener_ = std::move(listener); }  // before any work
  void close();
  // Makes `stream` wait for what is here now; `keeps_alive` is let go when that wait is in CUDA's queue.
  void hold_up(cudaStream_t stream, const std::shared_ptr<void>& keeps_alive);

  cudaStream_t stream() const { return stream_; }
  CudaDevice& device() const { return device_; }
  const std::atomic<bool>& closed() const { return closed_; }
  // The queue whose work this thread runs.
  static CudaQueue& current();
  CudaLaunch launch(const char* function);

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Task {
    std::function<Status()> work;
    bool always;
    uint64_t of = 0;  // itself, or the one that has added it, whose caller waits for it where calls are synchronous
    Awaits awaits = Awaits::kNothing;
  };

  bool dropping() const { return closed_.load(std::memory_order_relaxed) || (stop_ && !failure_.ok()); }
  bool queued() const { return pushed_ != finished_; }
  void keep(const Status& status);        // with the lock
  void tell(const Status& status) const;  // without
  uint64_t queue(Task task);              // with the lock; its number
  void count_as_unfinished();             // with the lock, when what it depends on has changed
  void make_wait(cudaStream_t stream);    // with the lock, or alone: for what was handed to CUDA here
  Status start_thread();
  Status find_runner();                  // with the lock, for tasks that are left because no thread could be started
  void run_dropping(Lock& lock);         // of a closed queue without a thread: somebody may wait for a point in it
  bool run_thread();                     // whether the end of the thread is still counted as unfinished
  bool run_front(Lock& lock);            // false in a child that the task forked: without the lock then
  Status with_operators(Status status);  // the names of those that ran since the last synchronisation

  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  CudaScratch* scratch_ = nullptr;
  std::function<void(const Status&)> listener_;

  std::mutex mutex_;  // guards what follows; held while work is handed over directly, never while a task runs
  std::condition_variable work_, done_;
  std::deque<Task> tasks_;
  uint64_t pushed_ = 0, finished_ = 0;      // tasks
  uint64_t running_of_ = 0;                 // of the one that runs; 0 when none does
  int awaiting_others_ = 0;                 // tasks that are not finished
  uint64_t submitted_ = 0, seen_done_ = 0;  // pieces of work handed to CUDA, and how many are known to be done
  bool has_thread_ = false;
  bool counted_ = false;  // as unfinished
  bool stop_ = false;
  Status failure_;
  std::atomic<bool> closed_{false};

  std::mutex names_mutex_;
  static constexpr size_t kNames = 4;
  const char* names_[kNames] = {};  // of operators, the newest first
};

}  // namespace descend
