// SPDX-License-Identifier: MIT
// Looking at the values of one run: class numbers that are none, means of nothing, NaN and infinities that appear.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/check/reporter.h"
#include "src/check/values.h"
#include "src/device/device.h"
#include "src/loops/inspect_kernels.h"
#include "src/observe/observer.h"

namespace descend {

// A run, and what is said of it.
struct WatchedRun {
  Reporter& reporter;
  Advice advice;
  const char* function;  // lives as long as the process
  std::vector<Use> uses;
  Site site;
  std::map<std::string, Site> tensors;  // where each parameter's was created

  // What the advice says of a parameter's values; null: nothing.
  const Advice::Classes* classes_of(const Use& use) const;
  // A result that is not finite is explained before anything ran.
  bool explained() const {
    return advice.not_finite || advice.only_moves || advice.has(Advice::Remark::kMeanOfNothing);
  }
  // Reports what is wrong with class numbers; true where a mean over them is one of nothing.  `seen` says whether
  // there are valid and wrong ones; count() counts them, where that has not been said before.
  bool judge(const Use& use, const Advice::Classes& classes, const ClassCount& seen,
             const std::function<ClassCount()>& count) const;
  // text() is asked for where it has not been said before.
  void report(Finding finding, const std::string& argument, const std::function<std::string()>& text) const;
};

// Where the memory is the host's: looks while the run has its turn.
class HostWatch final : public Watch {
 public:
  explicit HostWatch(WatchedRun run) : run_(std::move(run)), explained_(run_.explained()) {}
  void before(Launch&) override;
  void after(Launch&) override;

 private:
  bool is_not_finite(const Use& out) const;

  const WatchedRun run_;
  bool explained_;
};

// Where it is not: kernels of the device look, and what they find is read from there afterwards.
class FarWatch final : public Watch {
 public:
  using Inspect = decltype(kInspect)::Function;
  // Null when the device has no memory for it.
  static std::unique_ptr<Watch> make(WatchedRun run, Device& device, Inspect inspect);
  void before(Launch& launch) override { look(launch, false); }
  void after(Launch& launch) override { look(launch, true); }
  void over() override;

 private:
  static constexpr size_t kMostUses = 16;
  // In host memory that the device reaches, used again by later runs and never given back.
  struct Answers {
    Inspected before[kMostUses], after[kMostUses];
  };
  static std::vector<Answers*>& unused(Device& device);  // with the lock

  FarWatch(WatchedRun run, Device& device, Inspect inspect, Answers* answers)
      : run_(std::move(run)), device_(device), inspect_(inspect), answers_(answers) {}
  // Has the device look at one view, if its values can say anything.
  Status look_at(const Use& use, Inspected& answer, Launch& launch) const;
  void look(Launch& launch, bool after);
  bool is_written_over(const Use& in) const;
  // Whether an input that was not looked at before the run is not finite, or cannot be looked at.
  bool inputs_explain() const;
  void judge() const;

  const WatchedRun run_;
  Device& device_;
  const Inspect inspect_;
  Answers* const answers_;
};

}  // namespace descend
