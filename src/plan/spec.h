// SPDX-License-Identifier: MIT
// An operator's contract as a table: one row a parameter, in the order of the C function, each with the rules it must
// satisfy.  The table is checked in phase one, printed as documentation, and read by the tests, which make one failing
// call of every rule.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/base/product.h"
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/plan/objects.h"
#include "src/plan/rules.h"
#include "src/tensor/tensor.h"

namespace descend {

enum class Direction { kIn, kOut, kInOut };

// A rule, bound to its row.
template <class P> struct Check {
  Stage stage;
  std::string rule;  // in words
  std::function<bool(const P&)> holds;
  std::function<void(P&, Copies&)> violate;
  const aclTensor* P::*other = nullptr;
  std::optional<Product> product;
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

namespace detail {

// How rules reach a row's value: through a pointer (a violation changes a copy) or directly.
template <class P, class T, class R> void bind(Row<P>& row, const T* P::*field, const R& rule) {
  Check<P> check{rule.stage, rule.text, [field, holds = rule.holds](const P& p) { return holds(*(p.*field), p); },
                 [field, violate = rule.violate](P& p, Copies& copies) {
                   T* changed = copies.of(*(p.*field));
                   violate(*changed, p);
                   p.*field = changed;
                 }};
  check.product = rule.product;
  if constexpr (!std::is_same_v<decltype(rule.other), std::nullptr_t>) check.other = rule.other;
  row.checks.push_back(std::move(check));
}
template <class P, class T, class R>
requires(!std::is_pointer_v<T>) void bind(Row<P>& row, T P::*field, const R& rule) {
  row.checks.push_back({rule.stage, rule.text, [field, holds = rule.holds](const P& p) { return holds(p.*field, p); },
                        [field, violate = rule.violate](P& p, Copies&) { violate(p.*field, p); }});
}

template <class P, class T, class... Rules>
Row<P> pointer_row(const char* name, Direction direction, const T* P::*field, const char* meaning,
                   const Rules&... rules) {
  Row<P> row{name,
             direction,
             meaning,
             [field](const P& p) { return p.*field != nullptr; },
             [field](const P& p) { return pool_of(p.*field).alive(p.*field); },
             [field](P& p) { p.*field = nullptr; },
             [field](P& p, Copies& copies) { p.*field = copies.of(*(p.*field)); },
             [field](const P& p) { return describe(*(p.*field)); }};
  if constexpr (std::is_same_v<T, aclTensor>) row.tensor = field;
  (bind(row, field, rules), ...);
  return row;
}

}  // namespace detail

template <class P, class... Rules>
Row<P> input(const char* name, const aclTensor* P::*field, const char* meaning, const Rules&... rules) {
  return detail::pointer_row(name, Direction::kIn, field, meaning, rules...);
}
template <class P, class... Rules>
Row<P> output(const char* name, const aclTensor* P::*field, const char* meaning, const Rules&... rules) {
  return detail::pointer_row(name, Direction::kOut, field, meaning, rules...);
}
template <class P, class... Rules>
Row<P> in_out(const char* name, const aclTensor* P::*field, const char* meaning, const Rules&... rules) {
  return detail::pointer_row(name, Direction::kInOut, field, meaning, rules...);
}
template <class P, class... Rules>
Row<P> number(const char* name, const aclScalar* P::*field, const char* meaning, const Rules&... rules) {
  return detail::pointer_row(name, Direction::kIn, field, meaning, rules...);
}
template <class P, class T, class... Rules>
Row<P> attribute(const char* name, T P::*field, const char* meaning, const Rules&... rules) {
  const auto always = [](const P&) { return true; };
  Row<P> row{name,   Direction::kIn, meaning, always,
             always, nullptr,        nullptr, [field](const P& p) { return cat(p.*field); }};
  (detail::bind(row, field, rules), ...);
  return row;
}

// What is the same for every operator, without its parameters' types.
struct SpecText {
  struct Parameter {
    std::string name, direction, meaning, rules;
  };
  std::string function, summary;
  std::vector<Product> products;
  std::vector<Parameter> parameters;
  std::string markdown() const;  // the parameter table of the operator's page
};

namespace detail {
Status not_on_this_product(const char* function, const std::vector<Product>& products);
Status missing(const char* parameter);
Status dead(const char* parameter);
Status broken(const char* parameter, const std::string& rule, const std::string& found);
// What holds for every tensor: sizes that are sizes, addresses that exist, outputs whose elements do not share memory.
Status well_formed(const char* parameter, const aclTensor& t, bool is_written);
const char* name_of(Direction direction);
}  // namespace detail

template <class P> class Spec {
 public:
  // `products` are those whose page supports the operator.
  Spec(const char* function, const char* summary, std::vector<Product> products, std::vector<Row<P>> rows)
      : function_(function), summary_(summary), products_(std::move(products)), rows_(std::move(rows)) {
    for (Product product : products_) product_mask_ |= 1u << static_cast<int>(product);
    for (Row<P>& row : rows_)
      for (Check<P>& check : row.checks)
        if (const size_t at = check.rule.find("{}"); at != std::string::npos)
          check.rule.replace(at, 2, row_of(check.other).name);
    for (const Row<P>& row : rows_) {
      for (const Check<P>& check : row.checks) stages_[static_cast<size_t>(check.stage)].push_back({&row, &check});
      if (row.tensor && row.direction != Direction::kOut) inputs_.push_back(row.tensor);
      if (row.tensor && row.direction != Direction::kIn) outputs_.push_back(row.tensor);
    }
  }
  Spec(const Spec&) = delete;
  Spec& operator=(const Spec&) = delete;

  Status check(const P& p) const {
    if (!(product_mask_ >> static_cast<int>(current_product()) & 1u))
      return detail::not_on_this_product(function_, products_);
    for (const Row<P>& row : rows_)
      if (!row.present(p)) return detail::missing(row.name);
    for (const Row<P>& row : rows_)
      if (!row.alive(p)) return detail::dead(row.name);
    for (int stage = 0; stage < kStages; ++stage) {
      for (const auto& [row, check] : stages_[stage])
        if (!check->holds(p)) return detail::broken(row->name, check->rule, found(*row, *check, p));
      if (stage != static_cast<int>(Stage::kDtype)) continue;
      for (const Row<P>& row : rows_)
        if (row.tensor)
          if (Status s = detail::well_formed(row.name, *(p.*row.tensor), row.direction != Direction::kIn); !s.ok())
            return s;
    }
    return {};
  }

  SpecText text() const {
    SpecText text{function_, summary_, products_, {}};
    for (const Row<P>& row : rows_) {
      std::string rules;
      for (const Check<P>& check : row.checks) rules += cat(rules.empty() ? "" : "; ", check.rule);
      text.parameters.push_back({row.name, detail::name_of(row.direction), row.meaning, rules});
    }
    return text;
  }

  const char* function() const { return function_; }
  const std::vector<Row<P>>& rows() const { return rows_; }
  // Tensor parameters in the API's order; one that is both appears in both.
  const std::vector<const aclTensor * P::*>& inputs() const { return inputs_; }
  const std::vector<const aclTensor * P::*>& outputs() const { return outputs_; }

 private:
  const Row<P>& row_of(const aclTensor* P::*field) const {
    for (const Row<P>& row : rows_)
      if (row.tensor == field) return row;
    std::abort();  // a rule that names a parameter without a row: found by the first test that asks for the table
  }
  std::string found(const Row<P>& row, const Check<P>& check, const P& p) const {
    std::string text = row.describe(p);
    if (check.other) text += cat(", ", row_of(check.other).name, " is ", describe(*(p.*check.other)));
    return text;
  }

  const char* function_;
  const char* summary_;
  std::vector<Product> products_;
  uint32_t product_mask_ = 0;
  std::vector<Row<P>> rows_;
  std::array<std::vector<std::pair<const Row<P>*, const Check<P>*>>, kStages> stages_;
  std::vector<const aclTensor * P::*> inputs_, outputs_;
};

}  // namespace descend
