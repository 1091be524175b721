// SPDX-License-Identifier: MIT
// Callbacks that a thread of the program runs for a stream: who is subscribed, and what waits to be run.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "src/base/status.h"
#include "src/base/timeout.h"
#include "src/runtime/host_function.h"

namespace descend {

struct StreamObject;

class Reports {
 public:
  Status subscribe(uint64_t thread, const StreamObject& stream);
  // Callbacks that block and have not begun are dropped, because nobody is left to end the wait of the stream; others
  // that are queued may still be run by the thread.
  Status unsubscribe(uint64_t thread, const StreamObject& stream);
  Status launch(HostCall::Function function, void* user_data, bool blocks, StreamObject& stream);
  // Runs what is queued for the calling thread; waits for the first.
  Status process(Timeout timeout);

  // The stream ends.  With `drop`, no callback of it is run any more.
  void forget(const StreamObject& stream, bool drop);
  // The stream is going to end after this thread has waited for it: if its callbacks need this very thread, it loses
  // its subscription now.
  void release_if_mine(const StreamObject& stream);
  // Fails when the stream holds a callback that blocks and only this thread could run, of the first so many that were
  // launched on any stream.
  Status may_wait_for(uint32_t stream_id, uint64_t of_first = UINT64_MAX);
  uint64_t launched() const { return launched_; }  // so far

 private:
  enum class Progress { kLaunched, kRunning, kOver };
  struct Report {
    std::unique_ptr<HostCall> call;  // until it runs or is dropped
    bool blocks;
    uint32_t stream_id;
    uint64_t thread;
    uint64_t number;  // from 1 on
    Progress progress = Progress::kLaunched;
    bool delivered = false;
  };
  // What one thread has to do.
  struct Inbox {
    std::deque<std::shared_ptr<Report>> reports;
    int subscriptions = 0;
    int32_t device_id = 0;
    std::condition_variable changed;
  };
  struct Subscription {
    uint64_t thread;
    std::set<std::shared_ptr<Report>> launched;  // and not over
  };

  std::shared_ptr<Inbox> inbox_of(uint64_t thread);
  void deliver(const std::shared_ptr<Report>& report);
  void run(const std::shared_ptr<Report>& report, std::unique_lock<std::mutex>& lock);
  void end(const std::shared_ptr<Report>& report);
  // What it drops is for the caller to let go, without the lock.
  using Dropped = std::vector<std::unique_ptr<HostCall>>;
  void drop_one(const std::shared_ptr<Report>& report, Dropped& dropped);
  [[nodiscard]] Dropped end_subscription(std::map<uint32_t, Subscription>::iterator subscription, bool drop);

  std::atomic<uint64_t> launched_{0};  // changed with the lock
  std::mutex mutex_;
  std::condition_variable over_;  // a report's progress became kOver
  std::map<uint64_t, std::shared_ptr<Inbox>> inboxes_;
  std::map<uint32_t, Subscription> subscriptions_;  // by stream
};

}  // namespace descend
