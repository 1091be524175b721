// SPDX-License-Identifier: MIT
// The life of objects and memory, and the order of streams.
#include "src/check/checker.h"

#include <mutex>

#include "src/base/text.h"
#include "src/check/values.h"

namespace descend {
namespace {

constexpr size_t kKeptGone = 4096;  // executors whose end is remembered

Finding finding_of(Advice::Remark remark) {
  switch (remark) {
    case Advice::Remark::kNoOperator:
      return Finding::kNoOperator;
    case Advice::Remark::kNoDtype:
      return Finding::kNoDtype;
    case Advice::Remark::kNoSmoothing:
      return Finding::kNoSmoothing;
    case Advice::Remark::kNoZloss:
      return Finding::kNoZloss;
    case Advice::Remark::kTooLarge:
      return Finding::kTooLarge;
    case Advice::Remark::kScales:
      return Finding::kScales;
    case Advice::Remark::kEmpty:
      return Finding::kEmpty;
    case Advice::Remark::kMeanOfNothing:
      return Finding::kMeanOfNothing;
  }
  return Finding::kNoOperator;
}

}  // namespace

void Checker::created(ObjectKind kind, const void* handle) {
  const Site site = Site::here();
  const std::lock_guard lock(mutex_);
  if (kind == ObjectKind::kExecutor) {
    executors_[handle] = {.made = site};
    gone_.erase(handle);
  } else {
    objects_[{kind, handle}] = site;
  }
}

void Checker::destroyed(ObjectKind kind, const void* handle) {
  const Site site = Site::here();
  const std::lock_guard lock(mutex_);
  if (kind == ObjectKind::kEvent) order_.forget_event(handle);
  if (kind != ObjectKind::kExecutor) {
    objects_.erase({kind, handle});
    return;
  }
  const auto it = executors_.find(handle);
  if (it == executors_.end()) return;
  it->second.gone_at = site;
  gone_[handle] = std::move(it->second);
  executors_.erase(it);
  gone_in_order_.push_back(handle);
  if (gone_in_order_.size() <= kKeptGone) return;
  gone_.erase(gone_in_order_.front());
  gone_in_order_.pop_front();
}

void Checker::missing_executor(const void* handle, bool to_run) {
  Executor known;
  {
    const std::lock_guard lock(mutex_);
    const auto it = gone_.find(handle);
    if (it == gone_.end()) return;  // it never was one: the call's own status says so
    known = it->second;
  }
  reporter_.report(
      {to_run ? Finding::kRunTwice : Finding::kDestroyedTwice,
       current_function(),
       "executor",
       cat(handle, " was made by ", known.advice ? known.advice->function : "phase one", "GetWorkspaceSize"),
       {{"called at", Site::here()}, {"the executor was made at", known.made}, {"it was used up at", known.gone_at}}});
}

void Checker::allocated(Allocation& allocation) {
  const Site site = Site::here();
  bool kept = true;
  {
    const std::lock_guard lock(mutex_);
    kept = blocks_.add(allocation, site);
  }
  if (!kept) reporter_.remark("addresses ran out: the host was not kept from all device memory");
}

void Checker::freeing(const Allocation& allocation) {
  const Site site = Site::here();
  std::vector<Reported> found;
  {
    const std::lock_guard lock(mutex_);
    if (const Block* block = blocks_.find(allocation.begin))
      for (const Access& access : block->accesses) {
        if (order_.before(access.stream, access.number, order_.host())) continue;
        found.push_back({Finding::kFreedInUse,
                         current_function(),
                         allocation.kind == MemoryKind::kHost ? "hostPtr" : "devPtr",
                         cat(block->describe(allocation.begin), ", is ", access.written ? "written" : "read", " by ",
                             access.what, " on stream ", access.stream, ", which the host has not waited for"),
                         {{"freed at", site},
                          {"the work was submitted at", access.site},
                          {"the memory was allocated at", block->made}}});
        break;
      }
    blocks_.free(allocation, site);
  }
  reporter_.report_all(found);
}

std::map<std::string, Site> Checker::tensors_of(const Advice& advice) const {
  std::map<std::string, Site> tensors;
  for (const auto& [parameter, tensor] : advice.tensors)
    if (const auto made = objects_.find({ObjectKind::kTensor, tensor}); made != objects_.end())
      tensors[parameter] = made->second;
  return tensors;
}

void Checker::note(const Advice& advice, const std::map<std::string, Site>& tensors) {
  for (const Advice::Note& note : advice.notes) {
    Reported found{finding_of(note.remark), advice.function, note.parameter, note.text, {{"called at", Site::here()}}};
    found.add_made(tensors);
    reporter_.report(found);
  }
}

void Checker::planned(const void* executor, const Advice& advice) {
  std::map<std::string, Site> tensors;
  {
    const std::lock_guard lock(mutex_);
    tensors = tensors_of(advice);
    if (const auto it = executors_.find(executor); it != executors_.end()) {
      it->second.advice = std::make_shared<const Advice>(advice);
      it->second.tensors = tensors;
    }
  }
  note(advice, tensors);
}

void Checker::refused(const Advice& advice) {
  std::map<std::string, Site> tensors;
  {
    const std::lock_guard lock(mutex_);
    tensors = tensors_of(advice);
  }
  note(advice, tensors);
}

void Checker::recorded(const void* event, const StreamInfo& stream) {
  const std::lock_guard lock(mutex_);
  order_.record(event, stream.id);
}
void Checker::reset(const void* event, const StreamInfo& stream) {
  const std::lock_guard lock(mutex_);
  order_.reset(event, stream.id);
}
void Checker::waits(const StreamInfo& stream, const void* event) {
  const std::lock_guard lock(mutex_);
  order_.wait(stream.id, event);
}
void Checker::joined(const StreamInfo& stream) {
  const std::lock_guard lock(mutex_);
  order_.join(stream.id);
}
void Checker::joined_event(const void* event) {
  const std::lock_guard lock(mutex_);
  order_.join_event(event);
}
void Checker::stream_ended(const StreamInfo& stream) {
  const std::lock_guard lock(mutex_);
  order_.end(stream.id);
  std::erase_if(host_calls_, [&](const auto& each) { return each.second.stream == stream.id; });
}

// A function of the program runs after what its stream had to do when it was queued, and may write what later work
// reads.  While it runs it is not over, also to itself.
void Checker::host_function(uint32_t stream, const void* call, HostFunction moment) {
  const std::lock_guard lock(mutex_);
  if (moment == HostFunction::kQueued) {
    const Order::Moment queued = order_.submit(stream);
    HostCall& added = host_calls_[call] = {stream, queued.number, queued.after};
    --added.after[stream];
    return;
  }
  const auto it = host_calls_.find(call);
  if (it == host_calls_.end()) return;  // its stream has ended
  if (moment == HostFunction::kBegins) order_.join(it->second.after);
  if (moment == HostFunction::kOver) host_calls_.erase(it);
}

void Checker::dereferenced(const void* address, const Site& site) {
  Reported found{Finding::kDereferenced, "", "", "", {{"the host was at", site}}};
  {
    const std::lock_guard lock(mutex_);
    const Block* block = blocks_.find(address);
    found.text = block == nullptr ? cat(address, ", past the end of device memory")
                                  : cat(block->describe(address), block->freed ? " that was freed" : "");
    if (block != nullptr) found.sites.push_back({"the memory was allocated at", block->made});
  }
  reporter_.report(found);
}

}  // namespace descend
