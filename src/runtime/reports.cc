// SPDX-License-Identifier: MIT
// Subscriptions, and the way of a callback from its stream to the thread that runs it and back.
#include "src/runtime/reports.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "src/base/log.h"
#include "src/runtime/context.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

constexpr int64_t kMostThreads = 1024;

uint64_t this_thread() { return static_cast<uint64_t>(pthread_self()); }

}  // namespace

std::shared_ptr<Reports::Inbox> Reports::inbox_of(uint64_t thread) {
  std::shared_ptr<Inbox>& inbox = inboxes_[thread];
  if (inbox == nullptr) inbox = std::make_shared<Inbox>();
  return inbox;
}

Status Reports::subscribe(uint64_t thread, const StreamObject& stream) {
  const std::lock_guard lock(mutex_);
  if (!stream.alive) return invalid_handle("stream", HandleKind::kStream, stream.handle);
  if (const auto it = subscriptions_.find(stream.id); it != subscriptions_.end())
    return violation(Code::kStreamSubscribe, "stream", "has no thread for its callbacks yet",
                     cat("subscribed by thread ", it->second.thread), "call aclrtUnSubscribeReport first");
  const auto known = inboxes_.find(thread);
  if (known != inboxes_.end() && known->second->subscriptions > 0) {
    if (known->second->device_id != stream.context->device_id)
      return violation(Code::kThreadSubscribe, "threadId", "serves streams of one device only",
                       cat("a thread that serves device ", known->second->device_id, ", the stream is of device ",
                           stream.context->device_id));
  } else {
    const auto busy = std::count_if(inboxes_.begin(), inboxes_.end(),
                                    [](const auto& each) { return each.second->subscriptions > 0; });
    if (busy >= kMostThreads)
      return violation(Code::kOverLimit, "threadId", cat("is one of at most ", kMostThreads, " subscribed threads"),
                       cat("number ", busy + 1));
  }
  const std::shared_ptr<Inbox> inbox = inbox_of(thread);
  subscriptions_.emplace(stream.id, Subscription{thread, {}});
  inbox->device_id = stream.context->device_id;
  ++inbox->subscriptions;
  return {};
}

Status Reports::unsubscribe(uint64_t thread, const StreamObject& stream) {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  const auto it = subscriptions_.find(stream.id);
  if (it == subscriptions_.end())
    return violation(Code::kStreamNotSubscribed, "stream", "has a thread for its callbacks", "without one");
  if (it->second.thread != thread)
    return violation(Code::kThreadSubscribe, "threadId", "is the thread that serves the stream",
                     cat(thread, ", the stream's is ", it->second.thread));
  dropped = end_subscription(it, false);
  return {};
}

Status Reports::launch(HostCall::Function function, void* user_data, bool blocks, StreamObject& stream) {
  auto call = std::make_unique<HostCall>(function, user_data, stream.id, blocks);
  auto report = std::make_shared<Report>();
  {
    const std::lock_guard lock(mutex_);
    const auto it = subscriptions_.find(stream.id);
    if (it == subscriptions_.end())
      return violation(Code::kStreamNotSubscribed, "stream", "has a thread for its callbacks", "without one",
                       "call aclrtSubscribeReport for this stream first");
    *report = {std::move(call), blocks, stream.id, it->second.thread, ++launched_};
    it->second.launched.insert(report);
  }
  // A stream that ends or stops drops the callback undelivered.
  std::shared_ptr<void> undelivered(nullptr, [this, report](void*) {
    const std::lock_guard lock(mutex_);
    if (!report->delivered) end(report);
  });
  return stream.stream->call_host([this, report, undelivered = std::move(undelivered)] { deliver(report); }, blocks);
}

// On a thread of the backend, in stream order.
void Reports::deliver(const std::shared_ptr<Report>& report) {
  std::unique_lock lock(mutex_);
  if (report->progress == Progress::kOver) return;
  report->delivered = true;
  const std::shared_ptr<Inbox> inbox = inbox_of(report->thread);
  inbox->reports.push_back(report);
  inbox->changed.notify_all();
  if (report->blocks) over_.wait(lock, [&] { return report->progress == Progress::kOver; });
}

Status Reports::process(Timeout timeout) {
  const uint64_t thread = this_thread();
  std::unique_lock lock(mutex_);
  const auto known = inboxes_.find(thread);
  const auto not_subscribed = [] {
    return Status(Code::kThreadSubscribe, "this thread is subscribed to no stream",
                  "call aclrtSubscribeReport with this thread's pthread_self() first");
  };
  if (known == inboxes_.end()) return not_subscribed();
  const std::shared_ptr<Inbox> inbox = known->second;
  const auto something = [&] { return !inbox->reports.empty() || inbox->subscriptions == 0; };
  if (!timeout) {
    inbox->changed.wait(lock, something);
  } else if (!inbox->changed.wait_for(lock, *timeout, something)) {
    return {Code::kReportTimeout, cat("no callback came within ", timeout->count(), " milliseconds")};
  }
  // Only what is there now: a callback may launch the next one for ever.
  const size_t found = inbox->reports.size();
  for (size_t i = 0; i < found && !inbox->reports.empty(); ++i) {
    const std::shared_ptr<Report> report = inbox->reports.front();
    inbox->reports.pop_front();
    run(report, lock);
    if (!lock.owns_lock()) return {};  // it has forked, and this is the child: what is left is the parent's
  }
  if (inbox->subscriptions == 0 && inbox->reports.empty()) {
    if (const auto it = inboxes_.find(thread); it != inboxes_.end() && it->second == inbox) inboxes_.erase(it);
  }
  return found > 0 ? Status() : not_subscribed();
}

void Reports::run(const std::shared_ptr<Report>& report, std::unique_lock<std::mutex>& lock) {
  if (report->progress == Progress::kOver) return;
  report->progress = Progress::kRunning;
  // However the function ends (a thread may be cancelled in it), the stream must go on.
  struct Ending {
    Reports& reports;
    const std::shared_ptr<Report>& report;
    std::unique_lock<std::mutex>& lock;
    ~Ending() {
      // The function forked and this is the child: the lock and the stream are the parent's.
      if (descend::process().reports != &reports) return;
      lock.lock();
      reports.end(report);
    }
  } const ending{*this, report, lock};
  const std::unique_ptr<HostCall> call = std::move(report->call);
  lock.unlock();
  call->run();
}

void Reports::end(const std::shared_ptr<Report>& report) {
  report->progress = Progress::kOver;
  if (const auto it = subscriptions_.find(report->stream_id); it != subscriptions_.end())
    it->second.launched.erase(report);
  over_.notify_all();
}

void Reports::drop_one(const std::shared_ptr<Report>& report, Dropped& dropped) {
  log(LogLevel::kWarning, cat("a callback of stream ", report->stream_id,
                              " was dropped: the stream lost its thread before the callback ran"));
  dropped.push_back(std::move(report->call));
  end(report);
}

Reports::Dropped Reports::end_subscription(std::map<uint32_t, Subscription>::iterator subscription, bool drop) {
  Dropped dropped;
  const Subscription ended = std::move(subscription->second);
  subscriptions_.erase(subscription);
  for (const std::shared_ptr<Report>& report : ended.launched) {
    if (report->progress != Progress::kLaunched || !(report->blocks || drop)) continue;
    drop_one(report, dropped);
  }
  const std::shared_ptr<Inbox> inbox = inbox_of(ended.thread);
  std::erase_if(inbox->reports, [](const auto& report) { return report->progress == Progress::kOver; });
  if (--inbox->subscriptions == 0 && inbox->reports.empty()) inboxes_.erase(ended.thread);
  inbox->changed.notify_all();
  return dropped;
}

void Reports::forget(const StreamObject& stream, bool drop) {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  if (const auto it = subscriptions_.find(stream.id); it != subscriptions_.end()) dropped = end_subscription(it, drop);
  if (!drop) return;
  // What threads have that were subscribed before.
  for (const auto& [thread, inbox] : inboxes_)
    std::erase_if(inbox->reports, [&](const std::shared_ptr<Report>& report) {
      if (report->stream_id != stream.id) return false;
      drop_one(report, dropped);
      return true;
    });
  std::erase_if(inboxes_,
                [](const auto& each) { return each.second->subscriptions == 0 && each.second->reports.empty(); });
}

void Reports::release_if_mine(const StreamObject& stream) {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  const auto it = subscriptions_.find(stream.id);
  if (it != subscriptions_.end() && it->second.thread == this_thread()) dropped = end_subscription(it, false);
}

Status Reports::may_wait_for(uint32_t stream_id, uint64_t of_first) {
  const std::lock_guard lock(mutex_);
  const auto it = subscriptions_.find(stream_id);
  if (it == subscriptions_.end() || it->second.thread != this_thread()) return {};
  const auto blocks = [&](const auto& report) { return report->blocks && report->number <= of_first; };
  if (std::none_of(it->second.launched.begin(), it->second.launched.end(), blocks)) return {};
  return {Code::kNotSupported, "the stream waits for a callback that only this thread can run",
          "call aclrtProcessReport before synchronising, or synchronise in another thread"};
}

}  // namespace descend
