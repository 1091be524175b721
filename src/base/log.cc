// SPDX-License-Identifier: MIT
// Writing a line of the log without allocating and without holding a lock.
#include "src/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>

#include "src/base/environment.h"
#include "src/base/thread_end.h"

namespace descend {
namespace {

constexpr std::string_view kLevels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};

// A line is at most what one write to a pipe keeps together.
class Line {
 public:
  void add(std::string_view text) {
    for (const char c : text.substr(0, kRoom - length_)) bytes_[length_++] = c == '\n' ? ' ' : c;
  }
  void add(long number) {
    char digits[24];
    add(std::string_view(digits, std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
  }
  void write_to(int file) {
    bytes_[length_++] = '\n';
    // Only an interrupted write is repeated; what cannot be written is lost, as a log may be.
    while (::write(file, bytes_, length_) < 0 && errno == EINTR) continue;
  }

 private:
  static constexpr size_t kRoom = PIPE_BUF - 1;
  char bytes_[PIPE_BUF];
  size_t length_ = 0;
};

}  // namespace

bool log_enabled(LogLevel level) noexcept {
  if (level >= LogLevel::kNone || level < LogLevel::kDebug) return false;
  try {
    return static_cast<int>(level) >= environment().log_level;
  } catch (...) {  // no memory to read the environment into: as by default
    return level == LogLevel::kError;
  }
}

void log(LogLevel level, std::string_view text) noexcept {
  if (!log_enabled(level)) return;
  const NotCancelled here;  // where it writes
  const int kept = errno;
  int file = STDERR_FILENO;
  try {
    if (environment().log_to_stdout) file = STDOUT_FILENO;
  } catch (...) {
  }
  Line line;
  line.add("[");
  line.add(kLevels[static_cast<int>(level)]);
  line.add("] DESCEND(");
  line.add(static_cast<long>(getpid()));
  line.add("): ");
  line.add(text);
  line.write_to(file);
  errno = kept;
}

}  // namespace descend
