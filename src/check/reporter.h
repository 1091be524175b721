// SPDX-License-Identifier: MIT
// Saying what was found: once for each place, for people or as JSON, and in the end how much it was.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/leaf_mutex.h"
#include "src/check/findings.h"
#include "src/check/site.h"

namespace descend {

struct Reported {
  Finding finding;
  std::string function;                             // the C function
  std::string argument;                             // of it; empty where it is about none
  std::string text;                                 // the values
  std::vector<std::pair<std::string, Site>> sites;  // "the memory was allocated", where; the first is where it shows

  // Where the argument's tensor was created, if it is one of these parameters'.
  void add_made(const std::map<std::string, Site>& tensors) {
    if (const auto it = tensors.find(argument); it != tensors.end())
      sites.push_back({"the tensor was created at", it->second});
  }
};

class Reporter {
 public:
  // `suppressed`: ids, comma-separated, each may end in a star.  `json`: a file; empty: text on standard error.
  Reporter(const std::string& suppressed, const std::string& json);

  // The same thing at the same place is said once and counted.
  void report(const Reported& reported) {
    report(reported, [&] { return reported.text; });
  }
  // The same, of a thing whose text takes time: it is made only to be said.
  void report(Reported reported, const std::function<std::string()>& text);
  void report_all(const std::vector<Reported>& all) {
    for (const Reported& each : all) report(each);
  }

  // Something that the last line says of all of it.
  void remark(const std::string& text);

  // How many different things were found.
  size_t found();
  // The last line.
  void summarize();

  // In the child of a fork, where nothing else runs yet: what was found is the parent's.
  void leave_to_parent();

 private:
  using Key = std::pair<int, std::string>;  // the finding; function, argument and place

  bool suppressed(const std::string& id) const;
  void write(const std::string& text) const;

  std::vector<std::string> suppressed_;
  mutable std::atomic<int> file_ = 2;  // standard error, also when another can no longer be written
  bool json_ = false;
  LeafMutex mutex_;
  std::map<Key, size_t> seen_;
  std::set<std::string> remarks_;
};

}  // namespace descend
