// SPDX-License-Identifier: MIT
// Looking at the values of a run in memory that the host cannot read.
#include <algorithm>
#include <map>
#include <new>
#include <span>

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

// The bytes of a view, copied to the host: to say what was found among them, and where.
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

bool any_not_finite(std::span<const Inspected> answers) {
  return std::any_of(answers.begin(), answers.end(), [](const Inspected& each) { return each.not_finite != 0; });
}

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

Status FarWatch::look_at(const Use& use, Inspected& answer, Launch& launch) const {
  const Advice::Classes* const classes = run_.classes_of(use);
  if (classes == nullptr && !Inexacts::contains(use.view.dtype)) return {};
  const aclTensor once = without_repeats(use.view);
  const std::array<const aclTensor*, 1> views{&once};
  const InspectArgs arguments{iterate<1>(views), classes == nullptr ? 0 : classes->count,
                              classes == nullptr ? 0 : classes->ignored};
  void* const data[] = {static_cast<std::byte*>(once.data) + once.offset * static_cast<int64_t>(size_of(once.dtype)),
                        &answer};
  return inspect_(arguments, data, launch);
}

// Before the run class numbers, and what will be written over; after it what was written.
void FarWatch::look(Launch& launch, bool after) {
  if (after && run_.explained()) return;
  for (size_t i = 0; i < run_.uses.size(); ++i) {
    const Use& use = run_.uses[i];
    const bool now = after ? use.written : run_.classes_of(use) != nullptr || (use.read && is_written_over(use));
    // A failure is the run's, which says so.
    if (now && !look_at(use, after ? answers_->after[i] : answers_->before[i], launch).ok()) return;
  }
}

bool FarWatch::is_written_over(const Use& in) const {
  return std::any_of(run_.uses.begin(), run_.uses.end(), [&](const Use& out) {
    return out.written && overlap(in.view, extent_of(in.view), out.view, extent_of(out.view));
  });
}

// On a stream of its own: the run's waits for the answer.
bool FarWatch::inputs_explain() const {
  const std::unique_ptr<Stream> stream = device_.make_stream();
  if (stream == nullptr) return true;
  const auto look = [&]() -> Status {
    Launch launch{*stream, nullptr, run_.function};
    for (size_t i = 0; i < run_.uses.size(); ++i)
      if (run_.uses[i].read && answers_->before[i].ran == 0)
        if (Status s = look_at(run_.uses[i], answers_->before[i], launch); !s.ok()) return s;
    return {};
  };
  if (!stream->try_run(look, 0) && !stream->submit(look).ok()) return true;
  return !stream->synchronize({}).ok() || any_not_finite(answers_->before);
}

void FarWatch::judge() const {
  bool explained = run_.explained() || any_not_finite(answers_->before);
  for (size_t i = 0; i < run_.uses.size(); ++i) {
    const Use& use = run_.uses[i];
    const Inspected& read = answers_->before[i];
    const Advice::Classes* const classes = run_.classes_of(use);
    if (classes == nullptr || read.ran == 0) continue;
    explained |= run_.judge(use, *classes, {.valid = read.has_class != 0, .wrong = read.has_other}, [&] {
      const Fetched fetched(device_, use.view);
      return fetched ? count_classes(fetched.view(), *classes) : ClassCount{.wrong = 1, .first_wrong = -1};
    });
  }
  if (explained || !any_not_finite(answers_->after) || inputs_explain()) return;
  for (size_t i = 0; i < run_.uses.size(); ++i) {
    if (answers_->after[i].not_finite == 0) continue;
    const Use& out = run_.uses[i];
    run_.report(Finding::kNotFinite, out.name, [&] {
      const Fetched fetched(device_, out.view);
      return fetched ? first_not_finite(fetched.view()) : cat(describe(out.view), " has a NaN or an infinity");
    });
  }
}

void FarWatch::over() {
  judge();
  const std::lock_guard lock(mutex());
  unused(device_).push_back(answers_);
}

}  // namespace descend
