// SPDX-License-Identifier: MIT
#include "src/plan/catalog.h"

#include <algorithm>
#include <mutex>

namespace descend {
namespace {

struct Listed {
  std::mutex mutex;
  std::vector<OperatorEntry (*)()> makers;
  std::vector<OperatorEntry> entries;
};
Listed& listed() {
  static Listed& list = *new Listed;
  return list;
}

}  // namespace

bool detail::add_to_catalog(OperatorEntry (*make)()) {
  const std::lock_guard lock(listed().mutex);
  listed().makers.push_back(make);
  return true;
}

const std::vector<OperatorEntry>& catalog() {
  Listed& list = listed();
  const std::lock_guard lock(list.mutex);
  if (list.entries.empty()) {
    for (const auto make : list.makers) list.entries.push_back(make());
    std::sort(list.entries.begin(), list.entries.end(),
              [](const OperatorEntry& a, const OperatorEntry& b) { return a.text.function < b.text.function; });
  }
  return list.entries;
}

const OperatorEntry* find_operator(std::string_view name) {
  for (const OperatorEntry& entry : catalog())
    if (entry.text.function == name) return &entry;
  return nullptr;
}

}  // namespace descend
