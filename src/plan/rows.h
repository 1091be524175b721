// SPDX-License-Identifier: MIT
// The rows of a contract: one a parameter, with the rules it must satisfy.
#pragma once
#include <cstring>
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
  Code code = Code::kInvalid;
  std::string extension;
};

inline constexpr size_t kShownText = 40;  // bytes of a caller's text in a message

template <class P> struct Row {
  const char* name;
  Direction direction;
  const char* meaning;
  bool required = true;
  std::function<bool(const P&)> present;
  std::function<bool(const P&)> alive;    // when it is present
  std::function<void(P&)> clear;          // make a required one absent; empty when it cannot be
  std::function<void(P&, Copies&)> keep;  // replace what it points to by a copy; empty when it is a plain value
  std::function<std::string(const P&)> describe;
  const aclTensor* P::*tensor = nullptr;
  bool in_place = true;  // see TypedRow
  std::vector<Check<P>> checks;
};

// Where the objects live that a parameter of this type points to; null for plain values.
template <class Field> auto pool_for() {
  if constexpr (requires { pool_of(Field{}); })
    return &pool_of(Field{});
  else
    return nullptr;
}

enum class Presence { kRequired, kOptional };

// A row as its operator writes it, with the types of its rules: a check that passes is code without indirection.
// Of a parameter that is optional the rules hold when it is absent.
template <class P, class Field, Presence presence, class... Rules> struct TypedRow {
  const char* name;
  Direction direction;
  const char* meaning;
  Field P::*field;
  std::tuple<Rules...> rules;
  // Whether an output may be the very view of this input: each of its elements is read before that place is written.
  bool in_place = true;
  decltype(pool_for<Field>()) pool = pool_for<Field>();

  static constexpr bool is_text = std::is_same_v<Field, const char*>;
  static constexpr bool is_object = std::is_pointer_v<Field> && !is_text;
  static constexpr bool is_optional = presence == Presence::kOptional;
  static constexpr bool is_tensor = std::is_same_v<Field, const aclTensor*>;

  // What is remembered of it.
  using Value = std::conditional_t<is_text, std::string, std::remove_cv_t<std::remove_pointer_t<Field>>>;
  struct Kept {
    std::conditional_t<is_optional, std::optional<Value>, Value> value;
    // The object that was last found to have this value.
    Field object{};
    uint64_t life = 0;
  };

  // An output that is the very view of this input is written as if the input had been read completely first.
  TypedRow read_first() && {
    in_place = false;
    return std::move(*this);
  }

  bool present(const P& p) const {
    if constexpr (is_object || is_text)
      return p.*field != nullptr;
    else
      return true;
  }
  bool usable(const P& p) const {
    if (!present(p)) return is_optional;
    if constexpr (is_object)
      return pool->alive(p.*field);
    else
      return true;
  }
  template <Stage stage> bool holds(const P& p) const {
    if (is_optional && !present(p)) return true;
    const auto one = [&](const auto& rule) {
      if constexpr (std::remove_cvref_t<decltype(rule)>::stage == stage)
        return rule.holds(value(p), p);
      else
        return true;
    };
    return std::apply([&](const auto&... rule) { return (one(rule) && ...); }, rules);
  }

  void keep(const P& p, Kept& kept) const {
    if constexpr (is_optional) {
      kept.value.reset();
      if (!present(p)) return;
    }
    kept.value = value(p);
    if constexpr (is_object) kept.object = p.*field, kept.life = pool->life(p.*field);
  }
  // Whether the parameter is what was kept, but for a tensor's address.
  bool like(const P& p, Kept& kept) const {
    if constexpr (is_optional)
      if (!present(p) || !kept.value) return !present(p) && !kept.value;
    if constexpr (is_object) {
      // The same object needs no look inside.
      if (kept.object == p.*field && pool->still(p.*field, kept.life)) return true;
      const uint64_t life = pool->life(p.*field);
      if (life == 0 || !same(value(p), kept)) return false;
      kept.object = p.*field;
      kept.life = life;
      return true;
    } else {
      return same(value(p), kept);
    }
  }

  Row<P> erased() const {
    Row<P> row{name, direction, meaning, !is_optional, [row = *this](const P& p) { return row.present(p); }, {},
               {},   {},        {}};
    row.alive = [row = *this](const P& p) { return !row.present(p) || row.usable(p); };
    if constexpr ((is_object || is_text) && !is_optional) row.clear = [f = field](P& p) { p.*f = nullptr; };
    if constexpr (is_object) row.keep = [f = field](P& p, Copies& copies) { p.*f = copies.of(*(p.*f)); };
    if constexpr (is_text) row.keep = [f = field](P& p, Copies& copies) { p.*f = copies.of(p.*f); };
    row.describe = [row = *this](const P& p) { return row.words(p); };
    if constexpr (is_tensor) row.tensor = field;
    row.in_place = in_place;
    std::apply([&](const auto&... rule) { (row.checks.push_back(bind(rule)), ...); }, rules);
    return row;
  }

 private:
  template <class T> static bool same(const T& a, const Kept& kept) {
    const Value* b;
    if constexpr (is_optional)
      b = &*kept.value;
    else
      b = &kept.value;
    if constexpr (is_object)
      return alike(a, *b);
    else if constexpr (std::is_floating_point_v<T>)
      return std::memcmp(&a, b, sizeof a) == 0;  // -0 is not 0, and no mode of the thread makes them so
    else
      return a == *b;
  }
  std::string words(const P& p) const {
    if constexpr (is_object)
      return describe(*(p.*field));
    else if constexpr (is_text)
      return cat('"', std::string(p.*field, strnlen(p.*field, kShownText)), '"');
    else
      return cat(p.*field);
  }
  const auto& value(const P& p) const {
    if constexpr (is_object)
      return *(p.*field);
    else
      return p.*field;
  }
  template <class R> Check<P> bind(const R& rule) const {
    Check<P> check{R::stage, rule.text,
                   [row = *this, holds = rule.holds](const P& p) {
                     return (is_optional && !row.present(p)) || holds(row.value(p), p);
                   },
                   [f = field, violate = rule.violate](P& p, Copies& copies) {
                     if constexpr (is_object) {
                       auto* changed = copies.of(*(p.*f));
                       violate(*changed, p);
                       p.*f = changed;
                     } else {
                       violate(p.*f, p);
                     }
                   }};
    check.product = rule.product;
    check.dtypes = rule.dtypes;
    check.code = rule.code;
    check.extension = rule.extension;
    if constexpr (!std::is_same_v<decltype(rule.other), std::nullptr_t>) check.other = rule.other;
    return check;
  }
};

namespace detail {
template <class P, class Field, Presence presence = Presence::kRequired, class... Rules>
TypedRow<P, Field, presence, Rules...> row(const char* name, Direction direction, const char* meaning, Field P::*field,
                                           Rules... rules) {
  return {name, direction, meaning, field, {std::move(rules)...}};
}
}  // namespace detail

template <class P, class... Rules>
auto input(const char* name, const aclTensor* P::*field, const char* meaning, Rules... rules) {
  return detail::row(name, Direction::kIn, meaning, field, std::move(rules)...);
}
template <class P, class... Rules>
auto optional_input(const char* name, const aclTensor* P::*field, const char* meaning, Rules... rules) {
  return detail::row<P, const aclTensor*, Presence::kOptional>(name, Direction::kIn, meaning, field,
                                                               std::move(rules)...);
}
template <class P, class... Rules>
auto output(const char* name, const aclTensor* P::*field, const char* meaning, Rules... rules) {
  return detail::row(name, Direction::kOut, meaning, field, std::move(rules)...);
}
template <class P, class... Rules>
auto in_out(const char* name, const aclTensor* P::*field, const char* meaning, Rules... rules) {
  return detail::row(name, Direction::kInOut, meaning, field, std::move(rules)...);
}
template <class P, class... Rules>
auto number(const char* name, const aclScalar* P::*field, const char* meaning, Rules... rules) {
  return detail::row(name, Direction::kIn, meaning, field, std::move(rules)...);
}
template <class P, class... Rules>
auto ints(const char* name, const aclIntArray* P::*field, const char* meaning, Rules... rules) {
  return detail::row(name, Direction::kIn, meaning, field, std::move(rules)...);
}
// A text that may be null; its rules see a `const char*`.
template <class P, class... Rules>
auto optional_text(const char* name, const char* P::*field, const char* meaning, Rules... rules) {
  return detail::row<P, const char*, Presence::kOptional>(name, Direction::kIn, meaning, field, std::move(rules)...);
}
template <class P, class T, class... Rules>
auto attribute(const char* name, T P::*field, const char* meaning, Rules... rules) {
  return detail::row(name, Direction::kIn, meaning, field, std::move(rules)...);
}

}  // namespace descend
