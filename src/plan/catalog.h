// SPDX-License-Identifier: MIT
// All operators of the process, for documentation, tools and tests.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/plan/planner.h"
#include "src/plan/spec.h"

namespace descend {

// A way to make a valid call fail, from the operator's table.
struct Violation {
  std::string parameter, rule;
  Code code;                       // what phase one must answer
  std::optional<Product> product;  // the rule bites only there
  std::string extension;           // and only with this one; empty: with any
  std::function<void(void* params, Copies& copies)> apply;
};

struct OperatorEntry {
  SpecText text;
  std::vector<Violation> violations;
  // Phase one and the reference, of the operator's Params behind the pointer.
  int32_t (*plan)(const void* params, uint64_t* workspaceSize, aclOpExecutor** executor);
  void (*reference)(const void* params);
};

namespace detail {

template <class Op> OperatorEntry entry_of() {
  using P = typename Op::Params;
  OperatorEntry entry{Op::spec().text(),
                      {},
                      [](const void* params, uint64_t* workspaceSize, aclOpExecutor** executor) {
                        return descend::plan<Op>(*static_cast<const P*>(params), workspaceSize, executor);
                      },
                      [](const void* params) { Op::reference(*static_cast<const P*>(params)); }};
  for (const Row<P>& row : Op::spec().rows()) {
    if (row.clear)
      entry.violations.push_back(
          {row.name, "is not null", Code::kNullPointer, {}, {}, [clear = row.clear](void* p, Copies&) {
             clear(*static_cast<P*>(p));
           }});
    for (const Check<P>& check : row.checks)
      entry.violations.push_back(
          {row.name, check.rule, check.code, check.product, check.extension,
           [violate = check.violate](void* p, Copies& copies) { violate(*static_cast<P*>(p), copies); }});
  }
  return entry;
}

bool add_to_catalog(OperatorEntry (*make)());

}  // namespace detail

// The operators by name.  Tables are built at the first call.
const std::vector<OperatorEntry>& catalog();
const OperatorEntry* find_operator(std::string_view name);

// One line in the operator's file puts its table where tests and tools find it.
template <class Op> bool add_to_catalog() { return detail::add_to_catalog(detail::entry_of<Op>); }

}  // namespace descend
