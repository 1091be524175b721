// SPDX-License-Identifier: MIT
// DESCEND_TRACE=FILE: what the program and its streams did when, in the format that ui.perfetto.dev and
// chrome://tracing read, and a table of the operators at the end.
#pragma once
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/device/device.h"
#include "src/observe/observer.h"

namespace descend {

class Trace final : public Observer {
 public:
  // `json`: the table at the end is for programs.
  Trace(std::FILE* file, bool json);

  void enters(const char* function) override;
  void leaves(const char* function) override;
  Status submitting(const StreamInfo* stream, const Work& work) override;
  void submitted(const StreamInfo* stream, const Work& work) override;
  void joined(const StreamInfo& stream) override;
  void finalizing() override;

  // In the child of a fork: the file is the parent's, and so may be who holds the lock.
  void leave_to_parent();

  // Writes what is left, and the table to standard error.
  void end();

 private:
  using Clock = std::chrono::steady_clock;

  // The clock of a device, tied to ours by an event both know the time of.
  struct DeviceClock {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> zero;
    double at_zero = 0;    // microseconds of ours
    double bandwidth = 0;  // bytes a second that the device copies
  };
  // Work between two events of its stream.
  struct Slice {
    std::unique_ptr<Event> begin, end;
    uint32_t stream = 0;
    Device* device = nullptr;
    std::string name, arguments;
    uint64_t bytes = 0;
  };
  struct Total {
    std::string name;
    uint64_t calls = 0, bytes = 0;
    double microseconds = 0;
    double bandwidth = 0;

    double mean() const { return microseconds / static_cast<double>(calls); }
    double rate() const { return microseconds > 0 ? static_cast<double>(bytes) / microseconds * 1e6 : 0; }
    // Of the bandwidth; 0 where there is nothing to compare.
    double share() const { return bandwidth > 0 ? rate() / bandwidth : 0; }
  };

  double now() const;
  DeviceClock& clock_of(Device& device);
  void name_row(int32_t process, uint64_t row, const std::string& name);
  // One slice of a row; `arguments` is the inside of a JSON object.
  void write(int32_t process, uint64_t row, const std::string& name, double begin, double microseconds,
             const std::string& arguments);
  void add(const std::string& name, double microseconds, uint64_t bytes, double bandwidth);
  // Writes the slices whose events were reached; in the end waits for none.
  void settle();
  // What took longest comes first.
  std::vector<Total> totals() const;
  // Of the fastest device that had work, in bytes a second.
  double bandwidth() const;
  std::string table() const;
  std::string table_as_json() const;

  const Clock::time_point zero_ = Clock::now();
  std::mutex mutex_;
  std::FILE* file_;
  const bool json_;
  bool first_ = true;
  std::map<Device*, DeviceClock> clocks_;
  std::map<std::pair<int32_t, uint64_t>, bool> named_;
  std::deque<Slice> slices_;
  std::map<std::string, Total> totals_;
};

}  // namespace descend
