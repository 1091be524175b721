// SPDX-License-Identifier: MIT
// What a piece of work touches: is it memory, the right memory, written before it is read, and nobody else's now.
#include <unistd.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/check/checker.h"
#include "src/runtime/process.h"

namespace descend {
namespace {

constexpr size_t kMostAccesses = 1024;  // remembered of a block; then the oldest are forgotten

// Whether the host can read there: the system says so without a fault.
bool is_readable(const void* address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

std::string named(const char* function, const std::string& argument) {
  return argument.empty() ? function : cat(function, ", ", argument);
}

}  // namespace

Block* Checker::device_block(Look& look, const std::string& argument, const aclTensor& view) {
  Block* const block = blocks_.find(view.data);
  const auto refuse = [&](Finding finding, std::string text) {
    look.found.push_back({finding, look.function, argument, std::move(text), {{"called at", look.site}}});
    look.fatal = id_of(finding);
    return nullptr;
  };
  if (block == nullptr) {
    const std::string text = cat(describe(view), " at ", static_cast<const void*>(view.data));
    return refuse(is_readable(view.data) ? Finding::kHostMemory : Finding::kNobodysMemory, text);
  }
  if (block->freed) {
    refuse(Finding::kFreedMemory, cat(describe(view), " at ", block->describe(view.data)));
    look.found.back().sites.push_back({"the memory was freed at", block->freed_at});
    look.found.back().sites.push_back({"it was allocated at", block->made});
    return nullptr;
  }
  if (block->memory.kind == MemoryKind::kHost) {
    refuse(Finding::kHostMemory, cat(describe(view), " at ", block->describe(view.data)));
    look.found.back().sites.push_back({"the memory was allocated at", block->made});
    return nullptr;
  }
  const Extent extent = extent_of(view);
  const auto begin = static_cast<int64_t>(block->begin());
  const bool outside = extent.begin < begin || extent.end > begin + static_cast<int64_t>(block->memory.bytes);
  if (outside || extent.end > begin + static_cast<int64_t>(block->memory.asked)) {
    look.found.push_back({outside ? Finding::kOutside : Finding::kPadding,
                          look.function,
                          argument,
                          cat(describe(view), view.offset != 0 ? cat(" at offset ", view.offset) : "", " takes bytes ",
                              extent.begin - begin, " to ", extent.end - begin, " of memory of ", block->memory.asked,
                              " bytes (", block->memory.bytes, " with padding)"),
                          {{"called at", look.site}, {"the memory was allocated at", block->made}}});
    look.unwritten = true;
    if (outside) look.fatal = id_of(Finding::kOutside);
  }
  return outside ? nullptr : block;
}

bool Checker::comes_later(const Access& other) const {
  const auto it = host_calls_.find(thread_state().inside_call);
  return it != host_calls_.end() && order_.before(it->second.stream, it->second.number, other.after);
}

void Checker::touch(Look& look, const std::string& argument, Block& block, const aclTensor& view, bool written) {
  const Extent extent = extent_of(view);
  std::erase_if(block.accesses, [&](const Access& a) { return order_.before(a.stream, a.number, order_.host()); });
  for (const Access& other : block.accesses) {
    if ((!written && !other.written) || order_.before(other.stream, other.number, *look.after)) continue;
    if (comes_later(other)) continue;
    if (!overlap(view, extent, other.view, other.extent)) continue;
    const bool host = look.stream == nullptr;
    look.found.push_back(
        {host ? Finding::kRaceWithHost : Finding::kRaceOfStreams,
         look.function,
         argument,
         cat(written ? "written" : "read", host ? " by the host" : cat(" on stream ", look.stream->id), ", ",
             other.written ? "written" : "read", " by ", other.what, " on stream ", other.stream, ": ",
             block.describe(reinterpret_cast<const void*>(std::max(extent.begin, other.extent.begin)))),
         {{"called at", look.site},
          {"the other work was submitted at", other.site},
          {"the memory was allocated at", block.made}}});
    break;
  }
  if (look.stream == nullptr) return;  // what the host does itself is over when it returns
  for (Access& same : block.accesses)
    if (same.stream == look.stream->id && same.written == written && alike(same.view, view) &&
        same.view.data == view.data) {
      same = {look.stream->id, look.number, *look.after, view, extent, written, named(look.function, argument),
              look.site};
      return;
    }
  if (block.accesses.size() >= kMostAccesses) {
    look.forgot = true;
    block.accesses.erase(block.accesses.begin());
  }
  block.accesses.push_back(
      {look.stream->id, look.number, *look.after, view, extent, written, named(look.function, argument), look.site});
}

bool Checker::may_still_be_written(const Look& look) const {
  for (const auto& [call, queued] : host_calls_)
    if (order_.before(queued.stream, queued.number, *look.after)) return true;
  return false;
}

void Checker::check_written(Look& look, const std::string& argument, Block& block, const aclTensor& view) {
  if (block.written.all() || may_still_be_written(look)) return;
  for_each_run(view, [&](uintptr_t begin, uintptr_t end) {
    const size_t last = std::min<size_t>(end - block.begin(), block.memory.asked), first = begin - block.begin();
    const size_t unwritten = block.written.first_unwritten(first, last);
    if (unwritten >= last) return true;
    look.unwritten = true;
    look.found.push_back({Finding::kUninitialised,
                          look.function,
                          argument,
                          cat(describe(view), " reads byte ", unwritten, " of ", block.describe(block.memory.begin),
                              ", which nothing wrote"),
                          {{"called at", look.site}, {"the memory was allocated at", block.made}}});
    return false;
  });
}

void Checker::check_dtype(Look& look, const Use& use, const Block& block) {
  const Extent extent = extent_of(use.view);
  const int64_t bytes = extent.end - extent.begin;
  if (size_of(use.view.dtype) != 2 || bytes != 2 * size_of(use.view)) return;  // with gaps it may be on purpose
  if (extent.begin != static_cast<int64_t>(block.begin()) || 2 * bytes != static_cast<int64_t>(block.memory.asked))
    return;
  for (const Use& other : look.uses) {  // another tensor has some of the rest: there are two in one memory
    const Extent its = extent_of(other.view);
    if (its.end > extent.end && its.begin < extent.end + bytes) return;
  }
  const std::string floats = block.copied.floats_as(use.view.dtype);
  if (floats.empty()) return;
  look.unwritten |= use.read;
  look.found.push_back({Finding::kFloatsAsHalves,
                        look.function,
                        use.name,
                        cat(describe(use.view), " takes ", bytes, " bytes of ", block.memory.asked, ", which one copy ",
                            "wrote: ", floats),
                        {{"called at", look.site},
                         {"the floats were copied at", block.copied.at()},
                         {"the memory was allocated at", block.made}}});
}

void Checker::mark_written(Block& block, const aclTensor& view) {
  if (block.written.all()) return;
  for_each_run(view, [&](uintptr_t begin, uintptr_t end) {
    block.written.mark(begin - block.begin(), end - block.begin());
    return true;
  });
}

}  // namespace descend
