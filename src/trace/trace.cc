// SPDX-License-Identifier: MIT
// Writing slices as the events around them are reached, and adding them up.
#include "src/trace/trace.h"

#include <stdio_ext.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/device/bandwidth.h"
#include "src/tensor/overlap.h"

namespace descend {
namespace {

constexpr int32_t kHost = 0, kStreams = 1;  // Perfetto's processes; their threads are our rows
constexpr size_t kUnsettled = 4096;         // slices kept before a look at which are over

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// What a thread is doing.  Plain data: functions are called while a thread's objects are being destroyed, too.
constexpr int kDeepest = 8;                          // calls within calls
constinit thread_local double begun[kDeepest] = {};  // when the calls that it is in began
constinit thread_local int depth = 0;                // how many they are
constinit thread_local double copy_begun = 0;        // when the copy that the host makes itself began
constinit thread_local Event* work_begun = nullptr;

uint64_t bytes_of(const Work& work) {
  uint64_t bytes = work.bytes * (work.from != nullptr ? 2 : 1);  // a copy reads and writes
  if (work.uses.empty()) return bytes;
  bytes = 0;
  for (const Use& use : work.uses) {
    const int64_t elements = std::min(size_of(without_repeats(use.view)), use.most);
    bytes += static_cast<uint64_t>(elements) * size_of(use.view.dtype) * (use.read && use.written ? 2 : 1);
  }
  return bytes;
}

std::string arguments_of(const Work& work) {
  std::string text;
  for (const Use& use : work.uses)
    text += cat(text.empty() ? "" : ",", quoted(use.name), ":", quoted(describe(use.view)));
  return text;
}

std::string speed(uint64_t bytes, double microseconds) {
  char text[96];
  std::snprintf(text, sizeof text, "\"bytes\":%llu,\"GB/s\":%.3f", static_cast<unsigned long long>(bytes),
                microseconds > 0 ? static_cast<double>(bytes) / microseconds / 1e3 : 0.0);
  return text;
}

}  // namespace

Trace::Trace(std::FILE* file, bool json) : file_(file), json_(json) {
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file_);
  const std::lock_guard lock(mutex_);
  name_row(kHost, 0, "program");
  name_row(kStreams, 0, "streams");
}

double Trace::now() const { return std::chrono::duration<double, std::micro>(Clock::now() - zero_).count(); }

void Trace::name_row(int32_t process, uint64_t row, const std::string& name) {
  bool& named = named_[{process, row}];
  if (named) return;
  named = true;
  std::fprintf(file_, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%llu,\"name\":\"%s\",\"args\":{\"name\":%s}}",
               first_ ? "" : ",\n", process, static_cast<unsigned long long>(row),
               row == 0 ? "process_name" : "thread_name", quoted(name).c_str());
  first_ = false;
}

void Trace::write(int32_t process, uint64_t row, const std::string& name, double begin, double microseconds,
                  const std::string& arguments) {
  std::fprintf(file_, "%s{\"ph\":\"X\",\"pid\":%d,\"tid\":%llu,\"name\":%s,\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}}",
               first_ ? "" : ",\n", process, static_cast<unsigned long long>(row), quoted(name).c_str(), begin,
               microseconds, arguments.c_str());
  first_ = false;
}

void Trace::add(const std::string& name, double microseconds, uint64_t bytes, double bandwidth) {
  Total& total = totals_[name];
  ++total.calls;
  total.bytes += bytes;
  total.microseconds += microseconds;
  total.bandwidth = std::max(total.bandwidth, bandwidth);
}

void Trace::enters(const char*) {
  if (depth < kDeepest) begun[depth] = now();
  ++depth;
}

void Trace::leaves(const char* function) {
  if (--depth >= kDeepest) return;
  const double end = now(), begin = begun[depth];
  const auto thread = static_cast<uint64_t>(syscall(SYS_gettid));
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  name_row(kHost, thread, cat("thread ", thread));
  write(kHost, thread, function, begin, end - begin, "");
}

Trace::DeviceClock& Trace::clock_of(Device& device) {
  DeviceClock& clock = clocks_[&device];
  if (clock.stream == nullptr) {
    clock.bandwidth = copy_bandwidth(device);
    clock.stream = device.make_stream();
    clock.zero = device.make_event();
    if (clock.stream != nullptr && clock.zero != nullptr && clock.stream->record(*clock.zero).ok())
      (void)clock.zero->synchronize({}).ok();
    clock.at_zero = now();
  }
  return clock;
}

Status Trace::submitting(const StreamInfo* stream, const Work&) {
  if (stream == nullptr) {
    copy_begun = now();
    return {};
  }
  const double asked = now();
  {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return {};
    clock_of(*stream->device);
  }
  // The first time the device is measured, for which others wait: that is not the program's time.
  const double took = now() - asked;
  for (int i = 0; i < std::min(depth, kDeepest); ++i) begun[i] += took;
  std::unique_ptr<Event> begin = stream->device->make_event();
  if (begin != nullptr && stream->stream->record(*begin).ok()) work_begun = begin.release();
  return {};
}

void Trace::submitted(const StreamInfo* stream, const Work& work) {
  if (stream == nullptr) {
    const double end = now();
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    const auto thread = static_cast<uint64_t>(syscall(SYS_gettid));
    write(kHost, thread, "copy", copy_begun, end - copy_begun, speed(bytes_of(work), end - copy_begun));
    add(work.function, end - copy_begun, bytes_of(work), 0);
    return;
  }
  Slice slice{std::unique_ptr<Event>(std::exchange(work_begun, nullptr)),
              stream->device->make_event(),
              stream->id,
              stream->device,
              work.function,
              arguments_of(work),
              bytes_of(work)};
  if (slice.begin == nullptr || slice.end == nullptr || !stream->stream->record(*slice.end).ok()) return;
  const std::lock_guard lock(mutex_);
  slices_.push_back(std::move(slice));
  if (slices_.size() >= kUnsettled) settle();
}

void Trace::joined(const StreamInfo&) {
  const std::lock_guard lock(mutex_);
  settle();
}

void Trace::finalizing() {
  const std::lock_guard lock(mutex_);
  settle();
}

void Trace::settle() {
  if (file_ == nullptr) return;
  std::erase_if(slices_, [&](const Slice& slice) {
    if (!slice.begin->failure().ok() || !slice.end->failure().ok()) return true;
    if (!slice.begin->reached() || !slice.end->reached()) return false;
    const DeviceClock& clock = clocks_[slice.device];
    const double begin = clock.at_zero + slice.begin->milliseconds_since(*clock.zero) * 1e3;
    const double took = slice.end->milliseconds_since(*slice.begin) * 1e3;
    name_row(kStreams, slice.stream, cat("stream ", slice.stream));
    const std::string more = slice.bytes > 0 ? speed(slice.bytes, took) : "";
    write(kStreams, slice.stream, slice.name, begin, took,
          cat(slice.arguments, slice.arguments.empty() || more.empty() ? "" : ",", more));
    add(slice.name, took, slice.bytes, clock.bandwidth);
    return true;
  });
}

double Trace::bandwidth() const {
  double most = 0;
  for (const auto& [device, clock] : clocks_) most = std::max(most, clock.bandwidth);
  return most;
}

std::vector<Trace::Total> Trace::totals() const {
  std::vector<Total> rows;
  for (const auto& [name, total] : totals_) {
    rows.push_back(total);
    rows.back().name = name;
    if (total.bandwidth == 0) rows.back().bandwidth = bandwidth();  // the host's copies are of no device
  }
  std::sort(rows.begin(), rows.end(), [](const Total& a, const Total& b) { return a.microseconds > b.microseconds; });
  return rows;
}

std::string Trace::table() const {
  char line[160];
  std::snprintf(line, sizeof line, "%-32s %8s %14s %12s %9s %8s\n", "function", "calls", "total us", "mean us", "GB/s",
                "share");
  std::string text = line;
  for (const Total& total : totals()) {
    char share[16] = "-";
    if (total.share() > 0) std::snprintf(share, sizeof share, "%.0f %%", 100 * total.share());
    std::snprintf(line, sizeof line, "%-32s %8llu %14.1f %12.2f %9.2f %8s\n", total.name.c_str(),
                  static_cast<unsigned long long>(total.calls), total.microseconds, total.mean(), total.rate() / 1e9,
                  share);
    text += line;
  }
  text += "(time on the streams, and the host's in copies it makes itself";
  if (bandwidth() == 0) return text + ")\n";
  std::snprintf(line, sizeof line, "; share of the %.1f GB/s at which the device copies its memory)\n",
                bandwidth() / 1e9);
  return text + line;
}

std::string Trace::table_as_json() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Total& total : totals())
    rows.push_back({{"function", total.name},
                    {"calls", total.calls},
                    {"total_us", total.microseconds},
                    {"mean_us", total.mean()},
                    {"bytes", total.bytes},
                    {"gb_per_s", total.rate() / 1e9},
                    {"share", total.share()}});
  return nlohmann::ordered_json{{"trace", rows}, {"copy_gb_per_s", bandwidth() / 1e9}}.dump() + "\n";
}

void Trace::leave_to_parent() {
  new (&mutex_) std::mutex;
  // What is not written out yet the parent writes: exit() must not do it a second time.
  if (file_ != nullptr) __fpurge(file_);
  file_ = nullptr;
}

void Trace::end() {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  settle();
  std::fputs("\n]}\n", file_);
  const bool failed = std::ferror(file_) != 0;
  if (std::fclose(file_) != 0 || failed)
    log(LogLevel::kError, cat("DESCEND_TRACE: ", environment().trace, " could not be written to its end"));
  file_ = nullptr;
  if (totals_.empty()) return;
  std::fputs((json_ ? table_as_json() : "\n" + table()).c_str(), stderr);
}

}  // namespace descend
