// SPDX-License-Identifier: MIT
// What is left at the end.
#include <mutex>

#include "src/base/text.h"
#include "src/check/checker.h"

namespace descend {
namespace {

const char* noun(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kTensor:
      return "aclTensor";
    case ObjectKind::kScalar:
      return "aclScalar";
    case ObjectKind::kIntArray:
      return "aclIntArray";
    case ObjectKind::kFloatArray:
      return "aclFloatArray";
    case ObjectKind::kBoolArray:
      return "aclBoolArray";
    case ObjectKind::kTensorList:
      return "aclTensorList";
    case ObjectKind::kScalarList:
      return "aclScalarList";
    case ObjectKind::kExecutor:
      return "aclOpExecutor";
    case ObjectKind::kStream:
      return "aclrtStream";
    case ObjectKind::kEvent:
      return "aclrtEvent";
    case ObjectKind::kContext:
      return "aclrtContext";
  }
  return "object";
}

}  // namespace

void Checker::report_alive(const char* when) {
  constexpr size_t kNamed = 8;
  std::vector<Reported> found;
  std::vector<size_t> counts;  // of each
  const auto add = [&](Finding finding, const std::string& what, const std::string& text, const Site& made) {
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i].finding == finding && found[i].argument == what && found[i].sites[0].second == made) {
        if (counts[i]++ < kNamed) found[i].text += cat(", ", text);
        return;
      }
    found.push_back({finding, when, what, text, {{"made at", made}}});
    counts.push_back(1);
  };
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, site] : objects_) {
      const bool handle =
          key.first == ObjectKind::kStream || key.first == ObjectKind::kEvent || key.first == ObjectKind::kContext;
      add(handle ? Finding::kHandleAlive : Finding::kObjectAlive, noun(key.first), cat(key.second), site);
    }
    for (const auto& [handle, executor] : executors_)
      add(executor.run ? Finding::kObjectAlive : Finding::kNeverRun,
          executor.run      ? noun(ObjectKind::kExecutor)
          : executor.advice ? executor.advice->function
                            : "executor",
          cat(handle), executor.made);
    for (const auto& [begin, block] : blocks_.all())
      if (!block.freed && !block.reported)
        add(Finding::kMemoryAlive, block.memory.kind == MemoryKind::kDevice ? "device memory" : "host memory",
            cat(block.memory.asked, " bytes at ", static_cast<const void*>(block.memory.begin)), block.made);
    forget_alive();
  }
  for (size_t i = 0; i < found.size(); ++i)
    if (counts[i] > kNamed) found[i].text += cat(", and ", counts[i] - kNamed, " more");
  reporter_.report_all(found);
}

void Checker::forget_alive() {
  for (auto& [begin, block] : blocks_.all()) block.reported = true;
  objects_.clear();
  executors_.clear();
}

void Checker::leave_to_parent() {
  forget_alive();
  host_calls_.clear();
  for (auto& [begin, block] : blocks_.all()) block.accesses.clear();
}

}  // namespace descend
