// SPDX-License-Identifier: MIT
// What is said of the values of a run, and looking at them in memory of the host.
#include "src/base/text.h"
#include "src/check/blocks.h"
#include "src/check/value_watch.h"

namespace descend {

const Advice::Classes* WatchedRun::classes_of(const Use& use) const {
  for (const Advice::Classes& each : advice.classes)
    if (each.parameter == use.name) return &each;
  return nullptr;
}

void WatchedRun::report(Finding finding, const std::string& argument, const std::function<std::string()>& text) const {
  Reported found{finding, function, argument, "", {{"called at", site}}};
  found.add_made(tensors);
  reporter.report(std::move(found), text);
}

bool WatchedRun::judge(const Use& use, const Advice::Classes& classes, const ClassCount& seen,
                       const std::function<ClassCount()>& count) const {
  if (seen.wrong > 0)
    report(Finding::kTarget, use.name, [&] {
      const ClassCount all = count();
      return cat(describe(use.view), " has ",
                 all.first_wrong < 0 ? "other numbers" : cat(all.value, " at ", position(use.view, all.first_wrong)),
                 "; ", classes.count == 0 ? "there are no classes" : cat("classes are 0 to ", classes.count - 1),
                 ", ignoreIndex is ", classes.ignored, all.wrong > 1 ? cat("; ", all.wrong, " elements are such") : "");
    });
  if (!classes.mean || seen.valid) return false;
  report(Finding::kMeanOfNothing, use.name,
         [&] { return cat("none of the ", size_of(use.view), " targets counts, so there is nothing to divide by"); });
  return true;
}

void HostWatch::before(Launch&) {
  for (const Use& use : run_.uses)
    if (const Advice::Classes* classes = run_.classes_of(use)) {
      const ClassCount count = count_classes(use.view, *classes);
      explained_ |= run_.judge(use, *classes, count, [&] { return count; });
    }
  // What is written over cannot be looked at afterwards.
  for (const Use& use : run_.uses)
    if (use.read && use.written && !explained_) explained_ = has_not_finite(use.view);
  for (const Use& in : run_.uses)
    for (const Use& out : run_.uses) {
      if (explained_ || !in.read || in.written || !out.written) continue;
      if (overlap(in.view, extent_of(in.view), out.view, extent_of(out.view))) explained_ = has_not_finite(in.view);
    }
}

// Of a gradient that is 0 but at the targets, those points alone: reading the zeros takes longer than writing them.
bool HostWatch::is_not_finite(const Use& out) const {
  for (const Use& target : run_.uses)
    if (const Advice::Classes* classes = run_.classes_of(target))
      if (out.name == classes->result && out.view.shape.size() == 2 && target.view.shape.size() == 1)
        return has_not_finite_at(out.view, target.view, *classes);
  return has_not_finite(out.view);
}

void HostWatch::after(Launch&) {
  if (explained_) return;
  for (const Use& out : run_.uses) {
    if (!out.written || !is_not_finite(out)) continue;
    for (const Use& in : run_.uses)
      if (in.read && !in.written && has_not_finite(in.view)) return;
    run_.report(Finding::kNotFinite, out.name, [&] { return first_not_finite(out.view); });
  }
}

}  // namespace descend
