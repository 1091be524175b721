// SPDX-License-Identifier: MIT
// An operator's contract as a table: one row a parameter, in the order of the C function, each with the rules it must
// satisfy.  The table is checked in phase one, printed as documentation, and read by the tests, which make one failing
// call of every rule.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "src/base/product.h"
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/plan/objects.h"
#include "src/plan/plan.h"
#include "src/plan/rules.h"
#include "src/tensor/overlap.h"
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

// What is the same for every operator, without its parameters' types.
struct SpecText {
  struct Parameter {
    std::string name, direction, meaning, rules;
  };
  std::string function, summary, dtypes;  // dtypes of the first tensor that has a list of them
  std::vector<Product> products;
  std::vector<Parameter> parameters;
  std::string markdown() const;  // the tables of the operator's page: parameters, products
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

using Extents = std::array<Extent, kMaxTensors>;

// The parameters of one call, to compare another with.
template <class P> class Memory {
 public:
  virtual ~Memory() = default;
  virtual void keep(const P& p) = 0;
  virtual bool holds(const P& p) const = 0;
};

// The rows with their types: what is done on every call.
template <class P> class Table {
 public:
  virtual ~Table() = default;
  // Whether every rule holds; then `extents` says where each tensor parameter lies.
  virtual bool holds(const P& p, Extents& extents) const = 0;
  virtual std::unique_ptr<Memory<P>> make_memory() const = 0;
};

template <class P, class... Rows> class MemoryOf final : public Memory<P> {
 public:
  explicit MemoryOf(const std::tuple<Rows...>& rows) : rows_(rows) {}
  void keep(const P& p) override {
    each([&](const auto& row, auto& kept) { return row.keep(p, kept), true; }, kept_);
  }
  bool holds(const P& p) const override {
    return each([&](const auto& row, const auto& kept) { return row.like(p, kept); }, kept_);
  }

 private:
  template <class Body, class Kept> bool each(const Body& body, Kept& kept) const {
    return [&]<size_t... i>(std::index_sequence<i...>) { return (body(std::get<i>(rows_), std::get<i>(kept)) && ...); }
    (std::index_sequence_for<Rows...>());
  }
  const std::tuple<Rows...>& rows_;
  std::tuple<typename Rows::Kept...> kept_;
};

template <class P, class... Rows> class TableOf final : public Table<P> {
 public:
  explicit TableOf(Rows... rows) : rows_(std::move(rows)...) {}
  bool holds(const P& p, Extents& extents) const override {
    return std::apply([&](const auto&... row) { return hold(p, extents, row...); }, rows_);
  }
  std::unique_ptr<Memory<P>> make_memory() const override { return std::make_unique<MemoryOf<P, Rows...>>(rows_); }

 private:
  static bool hold(const P& p, Extents& extents, const Rows&... row) {
    static_assert((Rows::is_tensor + ...) <= kMaxTensors);
    size_t tensor = 0;
    const auto measured = [&](const auto& r) {
      if constexpr (std::remove_cvref_t<decltype(r)>::is_tensor)
        return measure(*(p.*r.field), r.direction != Direction::kIn, extents[tensor++]);
      else
        return true;
    };
    return (row.usable(p) && ...) && (row.template holds<Stage::kRank>(p) && ...) &&
           (row.template holds<Stage::kDtype>(p) && ...) && (measured(row) && ...) &&
           (row.template holds<Stage::kShape>(p) && ...) && (row.template holds<Stage::kValue>(p) && ...);
  }
  const std::tuple<Rows...> rows_;
};

template <class P> class Spec {
 public:
  struct TensorParameter {
    const char* name;
    const aclTensor* P::*field;
    int extent;  // in Extents
  };

  // `products` are those whose page supports the operator.
  template <class... Rows>
  Spec(const char* function, const char* summary, std::vector<Product> products, Rows... rows)
      : function_(function),
        summary_(summary),
        products_(std::move(products)),
        rows_{rows.erased()...},
        table_(std::make_unique<TableOf<P, Rows...>>(std::move(rows)...)) {
    for (Product product : products_) product_mask_ |= 1u << static_cast<int>(product);
    int extent = 0;
    for (Row<P>& row : rows_) {
      for (Check<P>& check : row.checks)
        if (const size_t at = check.rule.find("{}"); at != std::string::npos)
          check.rule.replace(at, 2, row_of(check.other).name);
      if (!row.tensor) continue;
      if (row.direction != Direction::kOut) inputs_.push_back({row.name, row.tensor, extent});
      if (row.direction != Direction::kIn) outputs_.push_back({row.name, row.tensor, extent});
      ++extent;
    }
  }
  Spec(const Spec&) = delete;
  Spec& operator=(const Spec&) = delete;

  // On success `extents` says where each tensor parameter lies.
  Status check(const P& p, Extents& extents) const {
    if (!(product_mask_ >> static_cast<int>(current_product()) & 1u))
      return detail::not_on_this_product(function_, products_);
    if (table_->holds(p, extents)) return {};
    return diagnose(p);
  }

  SpecText text() const {
    SpecText text{function_, summary_, {}, products_, {}};
    for (const Row<P>& row : rows_) {
      std::string rules;
      for (const Check<P>& check : row.checks) {
        rules += cat(rules.empty() ? "" : "; ", check.rule);
        if (text.dtypes.empty()) text.dtypes = check.dtypes;
      }
      text.parameters.push_back({row.name, detail::name_of(row.direction), row.meaning, rules});
    }
    return text;
  }

  const char* function() const { return function_; }
  const std::vector<Row<P>>& rows() const { return rows_; }
  // Tensor parameters in the API's order; one that is both appears in both.
  const std::vector<TensorParameter>& inputs() const { return inputs_; }
  const std::vector<TensorParameter>& outputs() const { return outputs_; }
  bool is_input(const TensorParameter& output) const {
    for (const TensorParameter& in : inputs_)
      if (in.field == output.field) return true;
    return false;
  }
  std::unique_ptr<Memory<P>> make_memory() const { return table_->make_memory(); }

 private:
  // Which rule a call breaks, in the order the table looks at them.
  Status diagnose(const P& p) const {
    for (const Row<P>& row : rows_)
      if (!row.present(p)) return detail::missing(row.name);
    for (const Row<P>& row : rows_)
      if (!row.alive(p)) return detail::dead(row.name);
    for (const Stage stage : {Stage::kRank, Stage::kDtype, Stage::kShape, Stage::kValue}) {
      for (const Row<P>& row : rows_)
        for (const Check<P>& check : row.checks)
          if (check.stage == stage && !check.holds(p))
            return detail::broken(row.name, check.rule, found(row, check, p));
      if (stage != Stage::kDtype) continue;
      for (const Row<P>& row : rows_)
        if (row.tensor)
          if (Status s = detail::well_formed(row.name, *(p.*row.tensor), row.direction != Direction::kIn); !s.ok())
            return s;
    }
    return {Code::kInner, "the parameters changed while they were checked"};
  }

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
  std::unique_ptr<const Table<P>> table_;
  std::vector<TensorParameter> inputs_, outputs_;
};

}  // namespace descend
