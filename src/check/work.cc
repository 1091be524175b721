// SPDX-License-Identifier: MIT
// A piece of work that is about to be handed over: an operator with its tensors, a copy, a fill.
#include <mutex>

#include "src/base/text.h"
#include "src/base/usual_floats.h"
#include "src/check/checker.h"
#include "src/check/value_watch.h"

namespace descend {
namespace {

constexpr size_t kAlignment = 32;

// Between submitting and watching the same run, on one thread.
constinit thread_local bool values_say_nothing = false;

aclTensor bytes_at(const void* address, uint64_t bytes) {
  aclTensor view;
  view.dtype = DataType::kUint8;
  view.shape = {static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX))};
  view.strides = {1};
  view.data = const_cast<void*>(address);
  return view;
}

}  // namespace

const Checker::Executor* Checker::executor(const void* handle) const {
  for (const auto* all : {&executors_, &gone_})
    if (const auto it = all->find(handle); it != all->end()) return &it->second;
  return nullptr;
}

Checker::Look Checker::look_at(const StreamInfo* stream, const Work& work) {
  Look look{work.function, stream, work.uses, Site::here(), &order_.host(), 0, executor(work.executor)};
  if (stream != nullptr) {
    const Order::Moment moment = order_.submit(stream->id);
    look.after = &moment.after;
    look.number = moment.number;
  }
  return look;
}

void Checker::use(Look& look, const Use& use) {
  Block* const block = device_block(look, use.name, use.view);
  if (block == nullptr) return;
  if (reinterpret_cast<uintptr_t>(use.view.data) % kAlignment != 0)
    look.found.push_back({Finding::kUnaligned,
                          look.function,
                          use.name,
                          cat(static_cast<const void*>(use.view.data), " is ",
                              reinterpret_cast<uintptr_t>(use.view.data) % kAlignment, " bytes past a multiple of 32"),
                          {{"called at", look.site}, {"the memory was allocated at", block->made}}});
  if (use.read) check_written(look, use.name, *block, use.view);
  check_dtype(look, use, *block);
  block->copied = {};
  touch(look, use.name, *block, use.view, use.written);
}

void Checker::check_overlaps(Look& look, std::span<const Use> uses) {
  for (const Use& in : uses)
    for (const Use& out : uses) {
      if (&in == &out || !in.read || !out.written) continue;
      if (!overlap(in.view, extent_of(in.view), out.view, extent_of(out.view))) continue;
      if (in.in_place && same_view(in.view, out.view)) continue;
      look.found.push_back({Finding::kOverlap,
                            look.function,
                            out.name,
                            cat(describe(out.view), " at ", static_cast<const void*>(out.view.data), " overlaps ",
                                in.name, ", ", describe(in.view), " at ", static_cast<const void*>(in.view.data)),
                            {{"called at", look.site}}});
      if (const Block* block = blocks_.find(out.view.data))
        look.found.back().sites.push_back({"the memory was allocated at", block->made});
    }
}

void Checker::copy(Look& look, const Work& work) {
  const auto side = [&](const void* address, const char* argument, bool written) -> Block* {
    Block* const block = blocks_.find(address);
    if (block == nullptr && !blocks_.reserved(address)) return nullptr;  // memory of the host
    const aclTensor view = bytes_at(address, work.bytes);
    if (block != nullptr && block->memory.kind == MemoryKind::kHost && !block->freed) {
      if (!work.refused) touch(look, argument, *block, view, written);
      return nullptr;
    }
    Block* const device = device_block(look, argument, view);
    if (device != nullptr && !work.refused) touch(look, argument, *device, view, written);
    return device;
  };
  const char* const to_name = work.from == nullptr ? "devPtr" : "dst";
  Block* const from = work.from == nullptr ? nullptr : side(work.from, "src", false);
  Block* const to = side(work.to, to_name, true);
  if (work.from != nullptr && look.fatal.empty()) {
    constexpr struct {
      const char* name;
      bool to_device, from_device;
    } kKinds[] = {{"ACL_MEMCPY_HOST_TO_HOST", false, false},
                  {"ACL_MEMCPY_HOST_TO_DEVICE", true, false},
                  {"ACL_MEMCPY_DEVICE_TO_HOST", false, true},
                  {"ACL_MEMCPY_DEVICE_TO_DEVICE", true, true}};
    const bool wrong =
        work.kind >= 0 && work.kind < 4 &&
        (kKinds[work.kind].to_device != (to != nullptr) || kKinds[work.kind].from_device != (from != nullptr));
    const auto place = [](const Block* block) { return block == nullptr ? "the host" : "the device"; };
    if (wrong) {
      look.found.push_back({Finding::kCopyKind,
                            look.function,
                            "kind",
                            cat("it is ", kKinds[work.kind].name, ", but the copy is from memory of ", place(from),
                                " to memory of ", place(to)),
                            {{"called at", look.site}}});
      for (const Block* block : {from, to})
        if (block != nullptr) look.found.back().sites.push_back({"the device memory was allocated at", block->made});
    }
  }
  if (work.refused) return;
  if (to == nullptr) {
    if (from != nullptr) check_written(look, "src", *from, bytes_at(work.from, work.bytes));
    return;
  }
  // A copy within the device carries over what was not written.
  const size_t base = static_cast<std::byte*>(work.to) - to->memory.begin;
  to->copied = {};
  if (from == nullptr) {
    to->written.mark(base, base + work.bytes);
    sample(look, work, *to);
    return;
  }
  const size_t source = static_cast<const std::byte*>(work.from) - from->memory.begin;
  if (may_still_be_written(look))
    to->written.mark(base, base + work.bytes);
  else
    to->written.mark_as(from->written, source, base, work.bytes);
}

void Checker::sample(const Look& look, const Work& work, Block& to) {
  if (work.from == nullptr || !look.fatal.empty() || work.to != to.memory.begin || work.bytes != to.memory.asked)
    return;
  // What a stream reads when it comes to it is not known yet, nor what a function in one may write before.
  const Block* const pinned = blocks_.find(work.from);
  if (!host_calls_.empty() || (pinned != nullptr && look.stream != nullptr)) return;
  // A copy past the end of its source is not done, whoever tells us of it.
  const auto from = reinterpret_cast<uintptr_t>(work.from);
  if (pinned != nullptr && from - pinned->begin() + work.bytes > pinned->memory.bytes) return;
  to.copied = Sample(work.from, work.bytes, look.site);
}

Status Checker::submitting(const StreamInfo* stream, const Work& work) {
  const UsualFloats here;  // numbers are looked at as text
  std::vector<Reported> found;
  std::string fatal;
  bool forgot = false;
  {
    const std::lock_guard lock(mutex_);
    Look look = look_at(stream, work);
    if (!work.uses.empty()) {
      check_overlaps(look, work.uses);
      for (const Use& each : work.uses) use(look, each);
      for (const Use& each : work.uses)
        if (Block* block = each.written ? blocks_.find(each.view.data) : nullptr)
          if (const Extent e = extent_of(each.view); e.begin >= static_cast<int64_t>(block->begin()))
            mark_written(*block, each.view);
      if (const auto it = executors_.find(work.executor); it != executors_.end()) it->second.run = true;
    } else if (work.to != nullptr) {
      copy(look, work);
    }
    if (look.executor != nullptr)
      for (Reported& each : look.found) each.add_made(look.executor->tensors);
    values_say_nothing = look.unwritten;
    forgot = look.forgot;
    found = std::move(look.found);
    fatal = std::move(look.fatal);
  }
  reporter_.report_all(found);
  if (forgot) reporter_.remark("some memory had so many uses at once that races with the oldest were not looked for");
  if (fatal.empty()) return {};
  return {stream == nullptr ? Code::kParamInvalid : Code::kKernelFailed,
          cat(work.function, ": ", fatal, ", so the work was not done"), "see what the checker said of it"};
}

std::unique_ptr<Watch> Checker::watch(const StreamInfo& stream, const Work& work, std::span<const Use> uses) {
  if (values_say_nothing) return nullptr;
  WatchedRun run{reporter_, {}, work.function, {uses.begin(), uses.end()}, Site::here(), {}};
  {
    const std::lock_guard lock(mutex_);
    if (const Executor* known = executor(work.executor); known != nullptr && known->advice) {
      run.advice = *known->advice;
      run.tensors = known->tensors;
    }
  }
  if (stream.device->memory_is_the_hosts()) return std::make_unique<HostWatch>(std::move(run));
  const auto inspect = stream.backend->kernels().find(kInspect);
  if (inspect == nullptr) {
    reporter_.remark(
        cat("values were not looked at: the device ", stream.backend->name(), " has no kernel ", kInspect.name));
    return nullptr;
  }
  auto watch = FarWatch::make(std::move(run), *stream.device, inspect);
  if (watch == nullptr) reporter_.remark("values were not all looked at: the device had no memory for the answers");
  return watch;
}

}  // namespace descend
