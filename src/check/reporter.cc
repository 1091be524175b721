// SPDX-License-Identifier: MIT
#include "src/check/reporter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace descend {
namespace {

constexpr const char* kMark = "==descend== ";

bool coloured() {
  static const bool on = isatty(STDERR_FILENO) && !environment().no_color;
  return on;
}
std::string red(const std::string& text) { return coloured() ? cat("\x1b[1;31m", text, "\x1b[0m") : text; }

// A pattern may end in a star.
bool is_meant(const std::string& pattern, const std::string& id) {
  return pattern.ends_with('*') ? id.starts_with(pattern.substr(0, pattern.size() - 1)) : id == pattern;
}

std::string words(const Frame& frame) {
  std::string text = frame.function.empty() ? "(no symbol)" : frame.function;
  if (!frame.file.empty())
    text += cat(" at ", frame.file, ":", frame.line);
  else if (!frame.module.empty())
    text += cat(" in ", frame.module);
  return text;
}

std::string for_people(const Reported& r) {
  const FindingText& known = text_of(r.finding);
  const std::string subject = cat(r.function, r.argument.empty() || r.function.empty() ? "" : ", ", r.argument);
  std::string text = cat(kMark, red(id_of(r.finding)), subject.empty() ? "" : " ", subject, ": ", known.title, "\n");
  if (!r.text.empty()) text += cat("    ", r.text, "\n");
  text += cat("    why: ", known.why, "\n    do:  ", known.remedy, "\n");
  for (const auto& [label, site] : r.sites) {
    const std::vector<Frame> frames = frames_of(site);
    if (frames.empty()) continue;
    text += cat("  ", label, "\n");
    for (size_t i = 0; i < frames.size(); ++i) text += cat("    #", i, " ", words(frames[i]), "\n");
  }
  return text;
}

std::string as_json(const Reported& r) {
  const FindingText& known = text_of(r.finding);
  nlohmann::ordered_json document{{"id", id_of(r.finding)},
                                  {"title", std::string(known.title)},
                                  {"function", r.function},
                                  {"argument", r.argument},
                                  {"text", r.text},
                                  {"why", std::string(known.why)},
                                  {"do", std::string(known.remedy)},
                                  {"sites", nlohmann::ordered_json::array()}};
  for (const auto& [label, site] : r.sites) {
    nlohmann::ordered_json frames = nlohmann::ordered_json::array();
    for (const Frame& frame : frames_of(site))
      frames.push_back(
          {{"function", frame.function}, {"file", frame.file}, {"line", frame.line}, {"module", frame.module}});
    document["sites"].push_back({{"label", label}, {"frames", frames}});
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// What tells one place from another.
std::string place_of(const Reported& r) {
  std::string place = cat(r.function, " ", r.argument);
  if (!r.sites.empty())
    for (int i = 0; i < r.sites[0].second.count; ++i)
      place += cat(" ", static_cast<const void*>(r.sites[0].second.frames[static_cast<size_t>(i)]));
  return place;
}

}  // namespace

std::string id_of(Finding finding) { return cat("DSC-", static_cast<int>(finding)); }

const FindingText& text_of(Finding finding) {
  return *std::find_if(kFindings.begin(), kFindings.end(),
                       [&](const FindingText& each) { return each.finding == finding; });
}

Reporter::Reporter(const std::string& suppressed, const std::string& json) {
  for (size_t at = 0; at < suppressed.size();) {
    const size_t comma = std::min(suppressed.find(',', at), suppressed.size());
    std::string id = suppressed.substr(at, comma - at);
    std::erase(id, ' ');
    at = comma + 1;
    if (id.empty()) continue;
    if (std::any_of(kFindings.begin(), kFindings.end(),
                    [&](const FindingText& each) { return is_meant(id, id_of(each.finding)); }))
      suppressed_.push_back(std::move(id));
    else
      log(LogLevel::kError, cat("DESCEND_CHECK_SUPPRESS has '", id, "', which is the id of no finding"));
  }
  if (json.empty()) return;
  const bool standard = json == "/dev/stderr";
  const int file =
      standard ? STDERR_FILENO : open(json.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    log(LogLevel::kError, cat("DESCEND_CHECK_JSON: ", json, " cannot be written"));
    return;
  }
  file_ = file;
  json_ = true;
}

bool Reporter::suppressed(const std::string& id) const {
  return std::any_of(suppressed_.begin(), suppressed_.end(),
                     [&](const std::string& each) { return is_meant(each, id); });
}

void Reporter::write(const std::string& text) const {
  const int kept = errno;
  int file = file_;
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(file, text.data() + at, text.size() - at);
    if (n > 0) at += static_cast<size_t>(n);
    if (n >= 0 || errno == EINTR) continue;
    if (file == STDERR_FILENO) break;
    const std::string reason = std::generic_category().message(errno);
    if (file_.exchange(STDERR_FILENO) == file)
      log(LogLevel::kError, cat("DESCEND_CHECK_JSON cannot be written any more (", reason,
                                "): findings are on standard error from here on"));
    file = STDERR_FILENO;
    at = 0;
  }
  errno = kept;
}

void Reporter::report(Reported reported, const std::function<std::string()>& text) {
  if (suppressed(id_of(reported.finding))) return;
  {
    const std::lock_guard lock(mutex_);
    if (++seen_[{static_cast<int>(reported.finding), place_of(reported)}] > 1) return;
  }
  reported.text = text();
  write(json_ ? as_json(reported) : for_people(reported));
}

void Reporter::remark(const std::string& text) {
  const std::lock_guard lock(mutex_);
  remarks_.insert(text);
}

size_t Reporter::found() {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

void Reporter::leave_to_parent() {
  seen_.clear();
  remarks_.clear();
}

void Reporter::summarize() {
  if (json_) return;
  std::map<int, std::pair<size_t, size_t>> counts;  // places, times
  size_t places = 0;
  std::string remarks;
  {
    const std::lock_guard lock(mutex_);
    places = seen_.size();
    for (const auto& [key, times] : seen_) {
      ++counts[key.first].first;
      counts[key.first].second += times;
    }
    for (const std::string& each : remarks_) remarks += cat("; ", each);
  }
  std::string text = cat(kMark, places == 0 ? "nothing found" : cat(places, places == 1 ? " finding" : " findings"));
  for (const auto& [finding, count] : counts) {
    text += cat(finding == counts.begin()->first ? ": " : ", ", id_of(static_cast<Finding>(finding)));
    if (count.second > 1) text += cat(" (", count.second, " times)");
  }
  write(cat(text, remarks, "\n"));
}

}  // namespace descend
