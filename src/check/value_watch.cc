// SPDX-License-Identifier: MIT
// What is said of the values of a run.
#include "src/base/text.h"
#include "src/check/values.h"

namespace descend {

ValueWatch::ValueWatch(Reporter& reporter, Advice advice, const char* function, std::span<const Use> uses, Site site,
                       std::map<std::string, Site> tensors)
    : reporter_(reporter),
      advice_(std::move(advice)),
      function_(function),
      uses_(uses.begin(), uses.end()),
      site_(std::move(site)),
      tensors_(std::move(tensors)),
      expected_(advice_.not_finite || advice_.has(Advice::Remark::kMeanOfNothing)) {}

void ValueWatch::report(Finding finding, const std::string& argument, std::string text) const {
  Reported found{finding, function_, argument, std::move(text), {{"called at", site_}}};
  found.add_made(tensors_);
  reporter_.report(found);
}

void ValueWatch::before() {
  for (const Advice::Classes& classes : advice_.classes)
    for (const Use& use : uses_) {
      if (use.name != classes.parameter) continue;
      const ClassCount count = count_classes(use.view, classes);
      if (count.wrong > 0)
        report(Finding::kTarget, use.name,
               cat(describe(use.view), " has ", count.value, " at ", position(use.view, count.first_wrong), "; ",
                   classes.count == 0 ? "there are no classes" : cat("classes are 0 to ", classes.count - 1),
                   ", ignoreIndex is ", classes.ignored,
                   count.wrong > 1 ? cat("; ", count.wrong, " elements are such") : ""));
      if (classes.mean && !count.valid) {
        expected_ = true;
        report(Finding::kMeanOfNothing, use.name,
               cat("none of the ", size_of(use.view), " targets counts, so there is nothing to divide by"));
      }
    }
  // What is written over cannot be looked at afterwards.
  for (const Use& use : uses_)
    if (use.read && use.written && !expected_) expected_ = has_not_finite(use.view);
  for (const Use& in : uses_)
    for (const Use& out : uses_) {
      if (expected_ || !in.read || in.written || !out.written) continue;
      if (in.view.data == out.view.data) expected_ = has_not_finite(in.view);
    }
}

// Of a gradient that is 0 but at the targets, those points alone: reading the zeros takes longer than writing them.
bool ValueWatch::is_not_finite(const Use& out) const {
  for (const Advice::Classes& classes : advice_.classes)
    for (const Use& target : uses_)
      if (out.name == classes.result && target.name == classes.parameter && out.view.shape.size() == 2 &&
          target.view.shape.size() == 1)
        return has_not_finite_at(out.view, target.view, classes);
  return has_not_finite(out.view);
}

void ValueWatch::after() {
  if (expected_) return;
  for (const Use& out : uses_) {
    if (!out.written || !is_not_finite(out)) continue;
    for (const Use& in : uses_)
      if (in.read && !in.written && has_not_finite(in.view)) return;
    report(Finding::kNotFinite, out.name, first_not_finite(out.view));
  }
}

}  // namespace descend
