// SPDX-License-Identifier: MIT
// The rows of a contract: one a parameter, with the rules it must satisfy.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/product.h"
#include "src/base/text.h"
#include "src/plan/objects.h"
#include "src/plan/rules.h"
#include "src/tensor/tensor.h"

namespace descend {

enum class Direction { kIn, kOut, kInOut };

// A rule, bound to its row.  Type-erased: for failures, documentation and tests.
template <class P> struct Check {
  Stage stage;
  std::string rule;  // in words
  std::function<bool(const P&)> holds;
  std::function<void(P&, Copies&)> violate;
  const aclTensor* P::*other = nullptr;
  std::optional<Product> product;
  std::string dtypes;
};

template <class P> struct Row {
  const char* name;
  Direction direction;
  const char* meaning;
  std::function<bool(const P&)> present;
  std::function<bool(const P&)> alive;
  std::function<void(P&)> clear;          // make it absent; empty when it cannot be
  std::function<void(P&, Copies&)> keep;  // replace what it points to by a copy; empty when it is a plain value
  std::function<std::string(const P&)> describe;
  const aclTensor* P::*tensor = nullptr;
  std::vector<Check<P>> checks;
};

// A row as its operator writes it, with the types of its rules: a check that passes is code without indirection.
template <class P, class Field, class... Rules> struct TypedRow {
  const char* name;
  Direction direction;
  const char* meaning;
  Field P::*field;
  std::tuple<Rules...> rules;

  static constexpr bool is_pointer = std::is_pointer_v<Field>;
  using Kept = std::remove_cv_t<std::remove_pointer_t<Field>>;  // what is remembered of it
  static constexpr bool is_tensor = std::is_same_v<Field, const aclTensor*>;

  bool usable(const P& p) const {
    if constexpr (is_pointer)
      return p.*field != nullptr && pool_of(p.*field).alive(p.*field);
    else
      return true;
  }
  template <Stage stage> bool holds(const P& p) const {
    const auto one = [&](const auto& rule) {
      if constexpr (std::remove_cvref_t<decltype(rule)>::stage == stage)
        return rule.holds(value(p), p);
      else
        return true;
    };
    return std::apply([&](const auto&... rule) { return (one(rule) && ...); }, rules);
  }

  void keep(const P& p, Kept& kept) const { kept = value(p); }
  // Whether the parameter is what was kept, but for a tensor's address.
  bool like(const P& p, const Kept& kept) const {
    if constexpr (is_pointer)
      return usable(p) && alike(*(p.*field), kept);
    else
      return p.*field == kept;
  }

  Row<P> erased() const {
    const auto always = [](const P&) { return true; };
    Row<P> row{name, direction, meaning, always, always, nullptr, nullptr, nullptr};
    if constexpr (is_pointer) {
      row.present = [f = field](const P& p) { return p.*f != nullptr; };
      row.alive = [f = field](const P& p) { return pool_of(p.*f).alive(p.*f); };
      row.clear = [f = field](P& p) { p.*f = nullptr; };
      row.keep = [f = field](P& p, Copies& copies) { p.*f = copies.of(*(p.*f)); };
      row.describe = [f = field](const P& p) { return describe(*(p.*f)); };
    } else {
      row.describe = [f = field](const P& p) { return cat(p.*f); };
    }
    if constexpr (is_tensor) row.tensor = field;
    std::apply([&](const auto&... rule) { (row.checks.push_back(bind(rule)), ...); }, rules);
    return row;
  }

 private:
  const auto& value(const P& p) const {
    if constexpr (is_pointer)
      return *(p.*field);
    else
      return p.*field;
  }
  template <class R> Check<P> bind(const R& rule) const {
    Check<P> check{R::stage, rule.text,
                   [row = *this, holds = rule.holds](const P& p) { return holds(row.value(p), p); },
                   [f = field, violate = rule.violate](P& p, Copies& copies) {
                     if constexpr (is_pointer) {
                       auto* changed = copies.of(*(p.*f));
                       violate(*changed, p);
                       p.*f = changed;
                     } else {
                       violate(p.*f, p);
                     }
                   }};
    check.product = rule.product;
    check.dtypes = rule.dtypes;
    if constexpr (!std::is_same_v<decltype(rule.other), std::nullptr_t>) check.other = rule.other;
    return check;
  }
};

template <class P, class... Rules>
TypedRow<P, const aclTensor*, Rules...> input(const char* name, const aclTensor* P::*field, const char* meaning,
                                              Rules... rules) {
  return {name, Direction::kIn, meaning, field, {std::move(rules)...}};
}
template <class P, class... Rules>
TypedRow<P, const aclTensor*, Rules...> output(const char* name, const aclTensor* P::*field, const char* meaning,
                                               Rules... rules) {
  return {name, Direction::kOut, meaning, field, {std::move(rules)...}};
}
template <class P, class... Rules>
TypedRow<P, const aclTensor*, Rules...> in_out(const char* name, const aclTensor* P::*field, const char* meaning,
                                               Rules... rules) {
  return {name, Direction::kInOut, meaning, field, {std::move(rules)...}};
}
template <class P, class... Rules>
TypedRow<P, const aclScalar*, Rules...> number(const char* name, const aclScalar* P::*field, const char* meaning,
                                               Rules... rules) {
  return {name, Direction::kIn, meaning, field, {std::move(rules)...}};
}
template <class P, class T, class... Rules>
TypedRow<P, T, Rules...> attribute(const char* name, T P::*field, const char* meaning, Rules... rules) {
  return {name, Direction::kIn, meaning, field, {std::move(rules)...}};
}

}  // namespace descend
