// SPDX-License-Identifier: MIT
// Handing work to CUDA in order, at once or from the queue's thread.
#include "src/backends/cuda/queue.h"

#include <algorithm>
#include <thread>

#include "src/backends/cuda/device.h"
#include "src/backends/cuda/fork.h"
#include "src/backends/cuda/unfinished.h"
#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/stream_thread.h"
#include "src/base/stream_work.h"
#include "src/base/text.h"
#include "src/base/thread_end.h"

namespace descend {
namespace {

thread_local CudaQueue* running = nullptr;
thread_local const CudaQueue* thread_of = nullptr;

}  // namespace

Status CudaQueue::make(CudaDevice& device, std::shared_ptr<CudaQueue>& made) {
  const auto done = [](cudaError_t code, const char* what) -> Status {
    Status status = cuda_status(code, what);
    if (status.ok() || status.code() == Code::kOutOfMemory) return status;
    return {Code::kNoStreamResource, status.message()};
  };
  auto queue = std::make_shared<CudaQueue>(device);
  if (Status s = done(cudaStreamCreateWithFlags(&queue->stream_, cudaStreamNonBlocking), "to make a stream"); !s.ok()) {
    queue->stream_ = nullptr;
    return s;
  }
  queue->scratch_ = static_cast<CudaScratch*>(device.allocate(sizeof(CudaScratch)));
  if (queue->scratch_ == nullptr) return {Code::kOutOfMemory, "the card has no memory left for a stream"};
  if (Status s =
          done(cudaMemsetAsync(queue->scratch_, 0, sizeof(CudaScratch), queue->stream_), "to clear a stream's memory");
      !s.ok())
    return s;
  made = std::move(queue);
  return {};
}

CudaQueue::~CudaQueue() {
  if (stream_ == nullptr || cuda_is_the_parents()) return;
  device_.use();
  if (scratch_ != nullptr) cudaFreeAsync(scratch_, stream_);
  // Memory that is freed from now on may still be used by what runs here.
  device_.forget(*this, [&] { make_wait(device_.frees()); });
  cudaStreamDestroy(stream_);
}

CudaQueue& CudaQueue::current() { return *running; }

CudaLaunch CudaQueue::launch(const char* function) {
  {
    const std::lock_guard lock(names_mutex_);
    if (names_[0] != function) {
      std::move_backward(names_, names_ + kNames - 1, names_ + kNames);
      names_[0] = function;
    }
  }
  return {stream_, scratch_, device_.multiprocessors(), device_.shared_memory(), device_.largest_cluster()};
}

Status CudaQueue::with_operators(Status status) {
  if (status.ok()) return status;
  std::string names;
  {
    const std::lock_guard lock(names_mutex_);
    for (const char* name : names_)
      if (name) names += cat(names.empty() ? "" : ", ", name);
  }
  return {status.code(),
          names.empty() ? status.message() : cat(names, " (the newest of what ran first): ", status.message()),
          status.solution()};
}

void CudaQueue::keep(const Status& status) {
  if (!status.ok() && failure_.ok()) failure_ = status;
}
void CudaQueue::tell(const Status& status) const {
  if (!status.ok() && listener_) listener_(status);
}

bool CudaQueue::try_now(FunctionRef<Status()> work, bool always) {
  if (cuda_is_the_parents()) return false;  // push says so
  const NotCancelled here;                  // within CUDA
  Status status;
  {
    const Lock lock(mutex_);
    if (queued()) return false;
    if (dropping() && !always) return true;
    ++submitted_;
    device_.use();
    running = this;
    status = guarded(work);
    if (status.ok() && environment().synchronous)
      status = with_operators(cuda_status(cudaStreamSynchronize(stream_), "while it ran"));
    keep(status);
  }
  tell(status);
  return true;
}

Status CudaQueue::push(std::function<Status()> work, bool always, Awaits awaits, FunctionRef<void()> queued) {
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  Lock lock(mutex_);
  if (!has_thread_)
    if (Status s = start_thread(); !s.ok()) return s;
  // What awaits others may wait for the caller, and so may all that is behind it, and what is behind a task of another
  // queue that waits for this one.
  const bool is_awaited = awaits == Awaits::kNothing && awaiting_others_ == 0;
  const bool in_a_task = thread_of == this;
  const uint64_t ticket = queue({std::move(work), always, in_a_task && is_awaited ? running_of_ : 0, awaits});
  queued();
  if (in_a_task) return {};
  const auto done = [&] {
    return finished_ >= ticket && running_of_ != ticket &&
           std::none_of(tasks_.begin(), tasks_.end(), [&](const Task& task) { return task.of == ticket; });
  };
  if (environment().synchronous && is_awaited && thread_of == nullptr) {
    // Without a thread it stays queued: the next synchronisation says so.
    while (!done() && find_runner().ok()) done_.wait(lock);
  }
  return {};
}

uint64_t CudaQueue::queue(Task task) {
  if (task.of == 0) task.of = pushed_ + 1;
  tasks_.push_back(std::move(task));  // first: it may throw
  ++pushed_;
  if (tasks_.back().awaits == Awaits::kOthers) ++awaiting_others_;
  count_as_unfinished();
  work_.notify_one();
  return pushed_;
}

void CudaQueue::count_as_unfinished() {
  const bool is = has_thread_ && (queued() || closed_.load(std::memory_order_relaxed));
  if (is == std::exchange(counted_, is)) return;
  is ? unfinished_begins() : unfinished_ends();
}

Status CudaQueue::start_thread() {
  Status status = start_stream_thread(shared_from_this(), [](std::shared_ptr<void> queue) {
    const bool counted = static_cast<CudaQueue*>(queue.get())->run_thread();
    queue.reset();  // may be the last that holds the queue, whose end uses CUDA
    if (counted) unfinished_ends();
  });
  if (!status.ok()) return status;
  has_thread_ = true;
  count_as_unfinished();
  return status;
}

Status CudaQueue::find_runner() {
  return tasks_.empty() || has_thread_ || running_of_ != 0 ? Status{} : start_thread();
}

Status CudaQueue::go_on() {
  const Lock lock(mutex_, std::try_to_lock);  // CUDA may block who holds it; whoever waits asks again soon
  return lock.owns_lock() ? find_runner() : Status{};
}

void CudaQueue::go_on_if_left() {
  const Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !find_runner().ok()) some_left() = true;
}

std::atomic<bool>& CudaQueue::some_left() {
  static constinit std::atomic<bool> some{false};
  return some;
}

bool CudaQueue::run_front(Lock& lock) {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  const bool drop = dropping() && !task.always, awaits_others = task.awaits == Awaits::kOthers;
  running_of_ = task.of;
  ++submitted_;
  lock.unlock();
  Status status;
  const auto end = [&] {
    if (cuda_is_the_parents()) return false;  // it has forked, and this is the child: the lock and the order, too
    task = {};                                // what it holds is let go before it counts as done, and without the lock
    lock.lock();
    ++finished_;
    if (awaits_others) --awaiting_others_;
    running_of_ = 0;
    keep(status);
    count_as_unfinished();
    done_.notify_all();
    return true;
  };
  try {
    device_.use();  // a function of the program before it may have used another
    running = this;
    if (!drop) status = guarded(task.work);
    tell(status);
  } catch (...) {  // the program ends this thread: the task is over all the same
    end();
    throw;
  }
  return end();
}

bool CudaQueue::run_thread() {
  thread_of_a_queue();
  thread_of = this;
  Lock lock(mutex_);
  try {
    while (true) {
      work_.wait(lock, [&] { return running_of_ == 0 && (!tasks_.empty() || closed_); });
      if (tasks_.empty()) {
        has_thread_ = false;
        return std::exchange(counted_, false);
      }
      if (!run_front(lock)) return false;
    }
  } catch (...) {                  // a function of the program ended this thread: another goes on
    if (!lock.owns_lock()) throw;  // but not in a child
    has_thread_ = false;
    if (Status s = find_runner(); !s.ok()) {
      log(LogLevel::kError, s.message());
      some_left() = true;
      if (closed_) run_dropping(lock);
    }
    count_as_unfinished();
    done_.notify_all();  // who waits tries again, and knows whom to tell
    throw;
  }
}

Status CudaQueue::wait_for_card() {
  return with_operators(cuda_status(cudaStreamSynchronize(stream_), "while it ran"));
}

bool CudaQueue::idle() {
  if (cuda_is_the_parents()) return true;
  const Lock lock(mutex_);
  if (queued()) return false;
  if (submitted_ == seen_done_) return true;
  device_.use();
  const cudaError_t error = cudaStreamQuery(stream_);
  if (error == cudaSuccess) seen_done_ = submitted_;
  return error != cudaErrorNotReady;  // a failure is for the synchronisation to tell
}

Status CudaQueue::synchronize(Timeout timeout) {
  if (cuda_is_the_parents()) return cuda_is_the_parents_status();
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::hours kYear(24 * 365);
  const auto end = Clock::now() + (timeout && *timeout < kYear ? Clock::duration(*timeout) : kYear);
  const auto late = [&]() -> Status {
    return {Code::kStreamTimeout, cat("the stream was not done within ", timeout->count(), " ms")};
  };
  Lock lock(mutex_);
  const uint64_t ticket = pushed_;
  while (finished_ < ticket) {
    if (Status s = find_runner(); !s.ok()) return s;
    if (done_.wait_until(lock, end) == std::cv_status::timeout && finished_ < ticket) return late();
  }
  const uint64_t submitted = submitted_;
  cudaError_t error = cudaSuccess;
  if (submitted != seen_done_) {
    lock.unlock();
    device_.use();
    if (!timeout) {
      error = cudaStreamSynchronize(stream_);
    } else {
      auto pause = std::chrono::microseconds(1);
      while ((error = cudaStreamQuery(stream_)) == cudaErrorNotReady) {
        if (Clock::now() >= end) return late();
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::microseconds(500));
      }
    }
    lock.lock();
  }
  if (error == cudaSuccess) seen_done_ = std::max(seen_done_, submitted);
  Status failure = std::exchange(failure_, {});
  lock.unlock();
  if (error != cudaSuccess) {
    const Status now = with_operators(cuda_status(error, "while it ran"));
    if (failure.ok()) tell(now);
    if (failure.ok()) failure = now;
  }
  const std::lock_guard names(names_mutex_);
  std::fill_n(names_, kNames, nullptr);
  return failure;
}

void CudaQueue::stop_on_failure(bool stop) {
  if (cuda_is_the_parents()) return;
  const Lock lock(mutex_);
  stop_ = stop;
}

void CudaQueue::close() {
  if (cuda_is_the_parents()) return;
  Lock lock(mutex_);
  closed_ = true;
  run_dropping(lock);     // where none could be started
  count_as_unfinished();  // the thread's own end
  work_.notify_all();
}

void CudaQueue::run_dropping(Lock& lock) {
  while (!has_thread_ && running_of_ == 0 && !tasks_.empty())
    if (!run_front(lock)) return;
  work_.notify_one();  // a thread that was started meanwhile has waited for this one
}

void CudaQueue::make_wait(cudaStream_t stream) {
  if (submitted_ == seen_done_) return;
  const Marker marker(device_.index());
  const bool waits = marker.made() && cudaEventRecord(marker.event(), stream_) == cudaSuccess &&
                     cudaStreamWaitEvent(stream, marker.event(), 0) == cudaSuccess;
  if (waits) return;
  cudaGetLastError();
  cudaStreamSynchronize(stream_);
}

void CudaQueue::hold_up(cudaStream_t stream, const std::shared_ptr<void>& keeps_alive) {
  const Lock lock(mutex_);
  if (!queued()) return make_wait(stream);
  const auto in_turn = [this, stream, keeps_alive]() -> Status {
    const Lock again(mutex_);
    make_wait(stream);
    return {};
  };
  queue({in_turn, true});
}

}  // namespace descend
