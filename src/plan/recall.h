// SPDX-License-Identifier: MIT
// Programs of calls that a thread made before.  Training loops make the same few calls over and over: a call that
// differs from an earlier one only in where its tensors are needs no second check and no second program.
#pragma once
#include <array>
#include <memory>
#include <utility>

#include "src/base/environment.h"
#include "src/plan/plan.h"
#include "src/plan/spec.h"

namespace descend {

// What a call was checked and planned under, besides its parameters.
struct Circumstances {
  const Environment* environment;  // the product's rules; the same variables are the same object
  const Backend* backend;
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

// The last few calls of one operator.  Used by one thread.
template <class P> class Recall {
 public:
  explicit Recall(const Spec<P>& spec) : spec_(spec) {}

  // The program of an earlier call that this one is like; null when there is none, or when an output would now overlap
  // an input.  Then the addresses are set as well.
  std::shared_ptr<const Program> find(const P& p, const Circumstances& now, Addresses& addresses) const {
    for (const Entry& entry : entries_)
      if (entry.program && entry.circumstances == now && entry.memory->holds(p) && place(p, entry.extents, addresses))
        return entry.program;
    return nullptr;
  }

  // `extents` are those of the check.  The oldest entry makes room.
  void keep(const P& p, const Circumstances& now, const Extents& extents, std::shared_ptr<const Program> program) {
    Entry& entry = entries_[next_++ % entries_.size()];
    entry.program = nullptr;  // until all of it is there
    if (!entry.memory) entry.memory = spec_.make_memory();
    entry.memory->keep(p);
    entry.circumstances = now;
    for (const auto* list : {&spec_.inputs(), &spec_.outputs()})
      for (const auto& tensor : *list) {
        const auto data = reinterpret_cast<intptr_t>((p.*tensor.field)->data);
        const auto i = static_cast<size_t>(tensor.extent);
        entry.extents[i] = {extents[i].begin - data, extents[i].end - data};
      }
    entry.program = std::move(program);
  }

 private:
  struct Entry {
    std::shared_ptr<const Program> program;
    Circumstances circumstances;
    std::unique_ptr<Memory<P>> memory;
    Extents extents;  // from the tensors' addresses
  };

  // False when the tensors at their addresses now could overlap in a way the program was not made for.
  bool place(const P& p, const Extents& extents, Addresses& addresses) const {
    size_t n = 0;
    Extents now;
    const auto put = [&](const auto& tensor) {
      const auto i = static_cast<size_t>(tensor.extent);
      const auto data = reinterpret_cast<intptr_t>((p.*tensor.field)->data);
      return !__builtin_add_overflow(extents[i].begin, data, &now[i].begin) &&
             !__builtin_add_overflow(extents[i].end, data, &now[i].end);
    };
    for (const auto& in : spec_.inputs()) {
      if (!put(in)) return false;
      addresses[n++] = (p.*in.field)->data;
    }
    for (const auto& out : spec_.outputs()) {
      if (!put(out)) return false;
      if (!spec_.is_input(out)) addresses[n++] = (p.*out.field)->data;
      for (const auto& in : spec_.inputs()) {
        const Extent &a = now[static_cast<size_t>(in.extent)], &b = now[static_cast<size_t>(out.extent)];
        if (in.field != out.field && a.begin < b.end && b.begin < a.end && !same_view(*(p.*in.field), *(p.*out.field)))
          return false;
      }
    }
    return true;
  }

  const Spec<P>& spec_;
  std::array<Entry, 4> entries_;
  size_t next_ = 0;
};

// This thread's memory of an operator; null when the thread is ending and its memory is gone.
template <class Op> Recall<typename Op::Params>* recall() {
  struct Owner {
    Recall<typename Op::Params>* memory = nullptr;
    bool* ended;
    ~Owner() {
      delete memory;
      *ended = true;
    }
  };
  thread_local bool ended = false;  // outlives the owner
  if (ended) return nullptr;
  thread_local Owner owner{nullptr, &ended};
  if (!owner.memory) owner.memory = new Recall<typename Op::Params>(Op::spec());
  return owner.memory;
}

}  // namespace descend
