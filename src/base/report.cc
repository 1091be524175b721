// SPDX-License-Identifier: MIT
// The pending texts of failures: a short list a thread, or one for the process.
#include "src/base/report.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "src/base/leaf_mutex.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace descend {
namespace {

constexpr const char* kLost = "[out of memory: the text of this failure was lost]";

// The latest failures, newest first.  Nobody has to read them, so older ones give way.
class Pending {
 public:
  void add(std::string text) noexcept {
    newest_ = (newest_ + 1) % texts_.size();
    texts_[newest_] = std::move(text);
    if (count_ < texts_.size()) ++count_;
  }
  bool empty() const { return count_ == 0; }
  // Empties the list even when it throws.
  std::string take() {
    const size_t count = std::exchange(count_, 0);
    std::string all;
    for (size_t age = 0; age < count; ++age) {
      const std::string text = std::move(texts_[(newest_ + texts_.size() - age) % texts_.size()]);
      if (age > 0) all += '\n';
      all += text.empty() ? kLost : text;
    }
    return all;
  }

 private:
  std::array<std::string, 16> texts_;
  size_t newest_ = 0;
  size_t count_ = 0;
};

struct Shared {
  LeafMutex mutex;
  Pending pending;
};
Shared& shared() {
  static Shared& shared = *new Shared;
  return shared;
}
// A child whose parent forked while another thread made it would wait for that thread.
[[maybe_unused]] const Shared& made_at_load = shared();
std::atomic<bool> process_wide{false};

thread_local int32_t last_code = 0;

// Other thread-local objects may be destroyed after this one and still report; then `ended` says that it is gone.
struct OfThread {
  Pending pending;
  std::string taken;
  ~OfThread();
};
thread_local bool ended = false;
thread_local OfThread of_thread;
OfThread::~OfThread() { ended = true; }

std::string_view title(Layer layer, int32_t code) {
  if (layer == Layer::kAclnn) {
    if (code == 161001 || code == 161002 || code == 561002) return "AclNN_Parameter_Error(EZ1001)";
    if (code == 361001) return "AclNN_Runtime_Error(EZ9903)";
    return "AclNN_Inner_Error(EZ9999)";
  }
  return "Invalid_Argument(EH0001)";
}

// Local time minus UTC, when the library was loaded: localtime_r takes a lock that a fork may leave taken.
const std::chrono::seconds utc_offset = [] {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  return std::chrono::seconds(parts.tm_gmtoff);
}();

// "[PID: 7] 2025-01-31-09:05:07.012.345", local time.
std::string stamp() {
  using namespace std::chrono;
  const auto now = floor<microseconds>(system_clock::now() + utc_offset);
  const auto day = floor<days>(now);
  const year_month_day date{day};
  const hh_mm_ss time{now - day};
  const auto fraction = time.subseconds().count();
  char text[96];
  const int length = std::snprintf(
      text, sizeof text, "[PID: %ld] %04d-%02u-%02u-%02d:%02d:%02d.%03d.%03d", static_cast<long>(getpid()),
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(fraction / 1000), static_cast<int>(fraction % 1000));
  return std::string(text, static_cast<size_t>(length));
}

void keep(std::string text) noexcept {
  if (process_wide.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(shared().mutex);
    shared().pending.add(std::move(text));
  } else if (!ended) {
    of_thread.pending.add(std::move(text));
  }
}

// That a caller's own limit of time has passed is an answer, which a loop may get for ever.
LogLevel level_of(Code code) {
  const bool is_answer = code == Code::kReportTimeout || code == Code::kStreamTimeout || code == Code::kEventTimeout;
  return is_answer ? LogLevel::kInfo : LogLevel::kError;
}

}  // namespace

int32_t report(Layer layer, const char* function, const Status& status) noexcept {
  if (status.ok()) return 0;
  const int32_t code = static_cast<int32_t>(status.code());
  if (layer == Layer::kAcl) last_code = code;
  std::string text;
  try {
    text = cat(title(layer, code), ": ", function, ": ", status.message());
    if (!status.solution().empty()) text += cat("\nSolution: ", status.solution());
    log(level_of(status.code()), text);
    text = cat(stamp(), " ", text);
  } catch (...) {
    text.clear();
    log(LogLevel::kError, kLost);
  }
  keep(std::move(text));
  return code;
}

const char* take_recent_error() noexcept {
  if (ended) return nullptr;
  try {
    if (process_wide.load(std::memory_order_relaxed)) {
      const std::lock_guard lock(shared().mutex);
      if (shared().pending.empty()) return nullptr;
      of_thread.taken = shared().pending.take();
    } else {
      if (of_thread.pending.empty()) return nullptr;
      of_thread.taken = of_thread.pending.take();
    }
    return of_thread.taken.c_str();
  } catch (...) {
    return kLost;
  }
}

void share_recent_errors(bool wanted) noexcept { process_wide.store(wanted, std::memory_order_relaxed); }

int32_t last_runtime_code() noexcept { return last_code; }
void clear_last_runtime_code() noexcept { last_code = 0; }

}  // namespace descend
