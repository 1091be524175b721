// SPDX-License-Identifier: MIT
// Programs of calls that a thread made before.  Training loops make the same few calls over and over: a call that
// differs from an earlier one only in where its tensors are needs no second check and no second program.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "src/base/environment.h"
#include "src/base/of_thread.h"
#include "src/plan/plan.h"
#include "src/plan/reference_plan.h"
#include "src/plan/spec.h"

namespace descend {

// What a call was checked and planned under, besides its parameters.
struct Circumstances {
  const Environment* environment;  // the product's rules; the same variables are the same object
  const Backend* backend;
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

template <class P> void take_addresses(const Spec<P>& spec, const P& p, Addresses& addresses) {
  size_t n = 0;
  for (const auto field : spec.addressed())
    if (const aclTensor* const tensor = p.*field) addresses[n++] = tensor->data;
}

// The last calls of one operator that differ in more than addresses.  Used by one thread.
template <class P> class Recall {
 public:
  struct Entry {
    std::shared_ptr<const Program> program;
    Circumstances circumstances;
    std::unique_ptr<Memory<P>> memory;
    Extents extents;      // from the tensors' addresses
    Addresses addresses;  // of the last call, where the program was found to fit
  };

  explicit Recall(const Spec<P>& spec) : spec_(spec) {}

  // An earlier call that this one is like; null when there is none.
  Entry* find(const P& p, const Circumstances& now) {
    // The same call again is the commonest, then the one that followed it last time.
    for (size_t step = 0; step < used_; ++step) {
      const size_t at = last_ + step < used_ ? last_ + step : last_ + step - used_;
      Entry& entry = entries_[at];
      if (!(entry.circumstances == now) || !entry.memory->holds(p)) continue;
      last_ = at;
      return &entry;
    }
    return nullptr;
  }

  // The addresses of a call that is like the entry's.  False when an output overlaps an input now in a way the program
  // was not made for.
  bool place(const P& p, Entry& entry, Addresses& addresses) const {
    size_t n = 0;
    bool same = true;
    for (const auto field : spec_.addressed())
      if (const aclTensor* const tensor = p.*field) {
        same &= entry.addresses[n] == tensor->data;
        addresses[n++] = tensor->data;
      }
    if (same) return true;
    Extents now;
    for (const auto* list : {&spec_.inputs(), &spec_.outputs()})
      for (const auto& tensor : *list) {
        if (!(p.*tensor.field)) continue;
        const auto i = static_cast<size_t>(tensor.extent);
        const auto data = reinterpret_cast<intptr_t>((p.*tensor.field)->data);
        if (__builtin_add_overflow(entry.extents[i].begin, data, &now[i].begin) ||
            __builtin_add_overflow(entry.extents[i].end, data, &now[i].end))
          return false;
      }
    bool apart = true;
    for_each_overlapped_input(spec_, p, now, [&](auto) { apart = false; });
    if (apart) entry.addresses = addresses;
    return apart;
  }

  // `extents` are those of the check.  The oldest entry makes room.
  void keep(const P& p, const Circumstances& now, const Extents& extents, std::shared_ptr<const Program> program) {
    Entry fresh{std::move(program), now, spec_.make_memory(), {}, {}};
    fresh.memory->keep(p);
    take_addresses(spec_, p, fresh.addresses);
    for (const auto* list : {&spec_.inputs(), &spec_.outputs()})
      for (const auto& tensor : *list) {
        if (!(p.*tensor.field)) continue;
        const auto data = reinterpret_cast<intptr_t>((p.*tensor.field)->data);
        const auto i = static_cast<size_t>(tensor.extent);
        fresh.extents[i] = {extents[i].begin - data, extents[i].end - data};
      }
    last_ = next_++ % entries_.size();
    entries_[last_] = std::move(fresh);
    used_ = std::max(used_, last_ + 1);
  }

 private:
  const Spec<P>& spec_;
  std::array<Entry, 16> entries_;
  size_t used_ = 0, next_ = 0, last_ = 0;
};

// An operator's own: two may have the same parameters and other rules.
template <class Op> struct RecallOf : Recall<typename Op::Params> {
  RecallOf() : Recall<typename Op::Params>(Op::spec()) {}
  static void end(RecallOf* last) { delete last; }
};
template <class Op> using RecallOfThread = OfThread<RecallOf<Op>, RecallOf<Op>::end>;

// This thread's memory of an operator; null when the thread is ending and its memory is gone.
template <class Op> RecallOf<Op>* recall() {
  using Mine = RecallOfThread<Op>;
  if (RecallOf<Op>* memory = Mine::get()) return memory;
  auto made = std::make_unique<RecallOf<Op>>();
  return Mine::put(made.get()) ? made.release() : nullptr;
}

}  // namespace descend
