// SPDX-License-Identifier: MIT
// Looking at the values of a run in memory that the host cannot read.
#include <algorithm>
#include <map>
#include <new>

#include "src/base/exponent.h"
#include "src/base/leaf_mutex.h"
#include "src/base/text.h"
#include "src/check/blocks.h"
#include "src/check/value_watch.h"

namespace descend {
namespace {

constexpr size_t kAtOnce = 64;  // answers that are allocated together

LeafMutex& mutex() {
  static LeafMutex& one = *new LeafMutex;
  return one;
}

// The bytes of a view, copied to the host: when something was found among them, or is to be explained by them.
class Fetched {
 public:
  Fetched(Device& device, const aclTensor& far) : view_(far) {
    const Extent extent = extent_of(far);
    const auto bytes = static_cast<size_t>(extent.end - extent.begin);
    if (bytes <= kMost) bytes_.reset(new (std::nothrow) std::byte[bytes]);
    if (bytes_ == nullptr || !device.copy(bytes_.get(), reinterpret_cast<const void*>(extent.begin), bytes).ok()) {
      bytes_ = nullptr;
      return;
    }
    view_.data = bytes_.get();
    view_.offset -= (extent.begin - reinterpret_cast<intptr_t>(far.data)) / static_cast<int64_t>(size_of(far.dtype));
  }
  explicit operator bool() const { return bytes_ != nullptr; }
  const aclTensor& view() const { return view_; }

 private:
  static constexpr size_t kMost = size_t{4} << 30;
  aclTensor view_;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace

std::vector<FarWatch::Answers*>& FarWatch::unused(Device& device) {
  static std::map<Device*, std::vector<Answers*>>& all = *new std::map<Device*, std::vector<Answers*>>;
  return all[&device];
}

std::unique_ptr<Watch> FarWatch::make(WatchedRun run, Device& device, Inspect inspect) {
  if (run.uses.size() > kMostUses) return nullptr;
  const auto take = [&]() -> Answers* {
    const std::lock_guard lock(mutex());
    std::vector<Answers*>& all = unused(device);
    if (all.empty()) return nullptr;
    Answers* const last = all.back();
    all.pop_back();
    return last;
  };
  Answers* answers = take();
  if (answers == nullptr) {
    answers = static_cast<Answers*>(device.allocate_host(kAtOnce * sizeof(Answers)));
    if (answers == nullptr) return nullptr;
    const std::lock_guard lock(mutex());
    for (size_t i = 1; i < kAtOnce; ++i) unused(device).push_back(answers + i);
  }
  *answers = {};
  return std::unique_ptr<Watch>(new FarWatch(std::move(run), device, inspect, answers));
}

// Before the run class numbers, and what will be written over; after it what was written.
void FarWatch::look(Launch& launch, bool after) {
  for (size_t i = 0; i < run_.uses.size(); ++i) {
    const Use& use = run_.uses[i];
    const Advice::Classes* const classes = run_.classes_of(use);
    const bool now = after ? use.written : classes != nullptr || (use.read && is_written_over(use));
    if (!now || (classes == nullptr && !Inexacts::contains(use.view.dtype))) continue;
    aclTensor once = use.view;  // of elements that are repeated, one
    for (size_t k = 0; k < once.shape.size(); ++k)
      if (once.strides[k] == 0 && once.shape[k] > 1) once.shape[k] = 1;
    const std::array<const aclTensor*, 1> views{&once};
    const InspectArgs arguments{iterate<1>(views), classes == nullptr ? 0 : classes->count,
                                classes == nullptr ? 0 : classes->ignored};
    Inspected* const answer = after ? &answers_->after[i] : &answers_->before[i];
    void* const data[] = {static_cast<std::byte*>(once.data) + once.offset * static_cast<int64_t>(size_of(once.dtype)),
                          answer};
    // A failure is the run's, which says so.
    if (!inspect_(arguments, data, launch).ok()) return;
  }
}

bool FarWatch::is_written_over(const Use& in) const {
  return std::any_of(run_.uses.begin(), run_.uses.end(), [&](const Use& out) {
    return out.written && overlap(in.view, extent_of(in.view), out.view, extent_of(out.view));
  });
}

void FarWatch::judge() const {
  bool explained = run_.explained();
  for (size_t i = 0; i < run_.uses.size(); ++i) {
    const Use& use = run_.uses[i];
    const Inspected& read = answers_->before[i];
    explained |= read.not_finite != 0;
    const Advice::Classes* const classes = run_.classes_of(use);
    if (classes == nullptr || read.ran == 0) continue;
    ClassCount count{.valid = read.has_class != 0};
    if (read.has_other != 0) {
      if (const Fetched fetched(device_, use.view); fetched)
        count = count_classes(fetched.view(), *classes);
      else
        count = {.valid = count.valid, .wrong = 1, .first_wrong = -1};
    }
    explained |= run_.judge(use, *classes, count);
  }
  for (size_t i = 0; i < run_.uses.size() && !explained; ++i) {
    if (answers_->after[i].not_finite == 0) continue;
    for (const Use& in : run_.uses)
      if (in.read && !is_written_over(in))
        if (const Fetched fetched(device_, in.view); !fetched || has_not_finite(fetched.view())) return;
    const Use& out = run_.uses[i];
    const Fetched fetched(device_, out.view);
    run_.report(Finding::kNotFinite, out.name,
                fetched ? first_not_finite(fetched.view()) : cat(describe(out.view), " has a NaN or an infinity"));
  }
}

void FarWatch::over() {
  judge();
  const std::lock_guard lock(mutex());
  unused(device_).push_back(answers_);
}

}  // namespace descend
