// SPDX-License-Identifier: MIT
// Reading the environment variables: every value is checked once, here.
#include "src/base/environment.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/leaf_mutex.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace descend {
namespace {

// More than any machine has; a larger number is a mistake, and each would be a thread.
constexpr int kMostThreads = 4096;

template <class Body> void for_each_name(std::string_view list, const Body& body) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    body(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// Reads variables and collects what was wrong with them: nothing can be logged before the log's own level is known.
class Reader {
 public:
  // Unset and empty are the same.
  void text(const char* variable, std::string& to) const {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') to = value;
  }

  // A comma-separated list of which the names are known.
  void names(const char* variable, std::initializer_list<std::string_view> known, std::string& to) {
    text(variable, to);
    for_each_name(to, [&](std::string_view name) {
      if (std::find(known.begin(), known.end(), name) != known.end()) return;
      std::string all;
      for (std::string_view each : known) all += cat(all.empty() ? "" : ", ", each);
      warnings_.push_back(
          cat(variable, " must be a list of names out of: ", all, "; it has '", name, "', without effect"));
    });
  }

  void number(const char* variable, int low, int high, int& to) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return;
    const std::string_view digits = value;
    int read = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    if (error != std::errc{} || end != digits.data() + digits.size() || read < low || read > high) {
      warnings_.push_back(cat(variable, " must be a whole number from ", low, " to ", high, "; it is '", digits,
                              "' and counts as unset"));
      return;
    }
    to = read;
  }

  void flag(const char* variable, bool& to) {
    int read = to ? 1 : 0;
    number(variable, 0, 1, read);
    to = read != 0;
  }

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::vector<std::string> warnings_;
};

Environment read(Reader& reader) {
  Environment e;
  reader.text("DESCEND_DEVICE", e.device);
  reader.text("DESCEND_SOC", e.soc);
  e.product = product_of(e.soc);
  reader.names("DESCEND_EXTENSIONS", {"zloss"}, e.extensions);
  reader.text("DESCEND_BACKEND_PATH", e.backend_path);
  reader.text("DESCEND_CPU_TARGET", e.cpu_target);
  reader.text("ASCEND_RT_VISIBLE_DEVICES", e.visible_devices);
  e.visible_devices_set = std::getenv("ASCEND_RT_VISIBLE_DEVICES") != nullptr;
  reader.number("DESCEND_THREADS", 0, kMostThreads, e.threads);
  reader.flag("DESCEND_SYNC", e.synchronous);
  reader.flag("DESCEND_CHECK", e.check);
  reader.text("DESCEND_CHECK_SUPPRESS", e.check_suppress);
  reader.text("DESCEND_CHECK_JSON", e.check_json);
  const char* const terminal = std::getenv("TERM");
  e.no_color = std::getenv("NO_COLOR") != nullptr || terminal == nullptr || std::string_view(terminal) == "dumb";
  reader.text("DESCEND_TRACE", e.trace);
  reader.flag("DESCEND_TRACE_JSON", e.trace_json);
  reader.number("ASCEND_GLOBAL_LOG_LEVEL", 0, 4, e.log_level);
  reader.flag("ASCEND_SLOG_PRINT_TO_STDOUT", e.log_to_stdout);
  return e;
}

std::atomic<const Environment*> current{nullptr};

// Every environment seen so far: references handed out stay good, and going back and forth between two of them does not
// grow the list.
struct Readings {
  LeafMutex mutex;
  std::deque<Environment> seen;
  std::vector<std::string> said;  // what was wrong with the last: aclInit reads again what was read at loading
};
Readings& readings() {
  static Readings& all = *new Readings;
  return all;
}
// A child whose parent forked while another thread made them would wait for that thread.
[[maybe_unused]] const Readings& made_at_load = readings();

void read_and_publish(bool replace) {
  std::deque<Environment>& seen = readings().seen;
  std::vector<std::string> news;
  {
    const std::lock_guard lock(readings().mutex);
    if (!replace && current.load(std::memory_order_acquire) != nullptr) return;
    Reader reader;
    const Environment now = read(reader);
    const Environment* found = nullptr;
    for (const Environment& e : seen) {
      if (e == now) found = &e;
    }
    if (found == nullptr) found = &seen.emplace_back(now);
    current.store(found, std::memory_order_release);
    std::vector<std::string>& said = readings().said;
    for (const std::string& warning : reader.warnings()) {
      if (std::find(said.begin(), said.end(), warning) == said.end()) news.push_back(warning);
    }
    said = reader.warnings();
  }
  for (const std::string& warning : news) log(LogLevel::kError, warning);
}

}  // namespace

const Environment& environment() {
  const Environment* e = current.load(std::memory_order_acquire);
  if (e == nullptr) [[unlikely]] {
    read_and_publish(false);
    e = current.load(std::memory_order_acquire);
  }
  return *e;
}

const Environment* environment_address() { return current.load(std::memory_order_relaxed); }

bool has_extension(std::string_view name) {
  bool found = false;
  for_each_name(environment().extensions, [&](std::string_view each) { found |= each == name; });
  return found;
}

void reread_environment() { read_and_publish(true); }

}  // namespace descend
