// SPDX-License-Identifier: MIT
// The vocabulary of the contracts: what a row of an operator's table may say about its parameter.
//
// A rule states its stage, its words, the test, and how to break it: `violate` changes a valid call so that this rule
// fails and no rule of an earlier stage does.  The negative tests are made of it.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "src/base/environment.h"
#include "src/base/product.h"
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/tensor/promote.h"
#include "src/tensor/tensor.h"

namespace descend {

// Rules run stage by stage over all rows, so a rule may rely on every rule of the earlier stages: a shape rule may
// index dimensions, a value rule may add up sizes.
enum class Stage { kPresent, kRank, kDtype, kShape, kValue };

// holds(value, params) -> bool and violate(value&, params&), where value is the row's tensor, scalar, array or
// attribute. In `text`, {} stands for the name of `other`.
template <Stage at, class Holds, class Violate, class Other = std::nullptr_t> struct Rule {
  static constexpr Stage stage = at;
  std::string text;
  Holds holds;
  Violate violate;
  Other other = {};
  std::optional<Product> product = {};  // one on which the rule bites; empty: all
  std::string dtypes = {};              // what a rule about dtypes accepts
  Code code = Code::kInvalid;           // what a call that breaks it is answered
  std::string extension = {};           // one of DESCEND_EXTENSIONS with which alone the rule bites
};

// The same rule with another answer than 161002.
template <class R> R answered_with(Code code, R rule) {
  rule.code = code;
  return rule;
}

// A rule in the operator's own words.
template <Stage stage = Stage::kValue, class Holds, class Violate>
Rule<stage, Holds, Violate> where(std::string text, Holds holds, Violate violate) {
  return {std::move(text), holds, violate};
}

// The same rule, for calls under an extension only.
template <Stage at, class Holds, class Violate> auto only_with(const char* extension, Rule<at, Holds, Violate> rule) {
  auto other = where<at>(
      cat(rule.text, ", with the extension ", extension),
      [=, holds = rule.holds](const auto& v, const auto& p) { return !has_extension(extension) || holds(v, p); },
      rule.violate);
  other.code = rule.code;
  other.extension = extension;
  return other;
}

inline auto rank(size_t low, size_t high) {
  return where<Stage::kRank>(
      low == high ? cat("has ", low, " dimensions") : cat("has ", low, " to ", high, " dimensions"),
      [=](const aclTensor& t, const auto&) { return low <= t.shape.size() && t.shape.size() <= high; },
      [=](aclTensor& t, auto&) {
        t.shape.assign(high + 1, 1);
        t.strides.assign(high + 1, 1);
      });
}

template <class... Ts> auto dtype_in(Dtypes<Ts...> set) {
  auto rule = where<Stage::kDtype>(
      cat("is ", names(set)), [](const aclTensor& t, const auto&) { return Dtypes<Ts...>::contains(t.dtype); },
      [](aclTensor& t, auto&) { t.dtype = DataType::kString; });
  rule.dtypes = names(set);
  return rule;
}

// A dtype that some products do not have.
template <class T> auto dtype_not_on(std::initializer_list<Product> products) {
  std::string text = cat("is not ", name(dtype_of<T>), " on ");
  uint32_t mask = 0;
  const char* separator = "";
  for (Product product : products) {
    text += cat(std::exchange(separator, " and "), name(product));
    mask |= 1u << static_cast<int>(product);
  }
  auto rule = where<Stage::kDtype>(
      std::move(text),
      [mask](const aclTensor& t, const auto&) {
        return t.dtype != dtype_of<T> || !(mask >> static_cast<int>(current_product()) & 1u);
      },
      [](aclTensor& t, auto&) { t.dtype = dtype_of<T>; });
  rule.product = *products.begin();
  return rule;
}

namespace detail {
template <Stage stage, class P, class Holds, class Violate>
Rule<stage, Holds, Violate, const aclTensor * P::*> relation(const char* text, const aclTensor* P::*other, Holds holds,
                                                             Violate violate) {
  return {text, holds, violate, other};
}
}  // namespace detail

template <class P> auto same_dtype(const aclTensor* P::*other) {
  return detail::relation<Stage::kDtype>(
      "has the dtype of {}", other, [=](const aclTensor& t, const P& p) { return t.dtype == (p.*other)->dtype; },
      [](aclTensor& t, P&) { t.dtype = t.dtype == DataType::kFloat ? DataType::kFloat16 : DataType::kFloat; });
}

template <class P> auto holds_cast_of(const aclTensor* P::*other) {
  return detail::relation<Stage::kDtype>(
      "has a dtype that {} converts to", other,
      [=](const aclTensor& t, const P& p) { return converts((p.*other)->dtype, t.dtype); },
      [](aclTensor& t, P&) { t.dtype = DataType::kInt32; });
}

template <class P> auto same_shape(const aclTensor* P::*other) {
  return detail::relation<Stage::kShape>(
      "has the shape of {}", other, [=](const aclTensor& t, const P& p) { return t.shape == (p.*other)->shape; },
      [](aclTensor& t, P&) {
        t.shape.push_back(2);
        t.strides = row_major(t.shape);
      });
}

inline auto one_element() {
  return where<Stage::kShape>(
      "has one element", [](const aclTensor& t, const auto&) { return size_of(t) == 1; },
      [](aclTensor& t, auto&) {
        t.shape.push_back(2);
        t.strides = row_major(t.shape);
      });
}

// The shape that all of the tensors broadcast to; empty when there is none.
template <class... Tensors> std::optional<Shape> broadcast_of(const aclTensor& first, const Tensors&... others) {
  std::optional<Shape> shape = first.shape;
  ((shape = shape ? broadcast(*shape, others.shape) : std::nullopt), ...);
  return shape;
}

// Tensors that broadcast in pairs broadcast together.
template <class P> auto broadcasts_with(const aclTensor* P::*other) {
  return detail::relation<Stage::kShape>(
      "has a shape that broadcasts with {}", other,
      [=](const aclTensor& t, const P& p) { return broadcast(t.shape, (p.*other)->shape).has_value(); },
      [=](aclTensor& t, P& p) {
        // Ones, but for one dimension in which the other tensor must not be 1: shapes of third tensors still fit.
        t.shape = (p.*other)->shape;
        bool differs = false;
        for (int64_t& d : t.shape) d = d != 1 && !std::exchange(differs, differs || d != 1) ? d + 1 : 1;
        t.strides = row_major(t.shape);
      });
}

// Rules of plain numbers.
template <class T> auto between(T low, T high, const char* words) {
  return where(
      words, [=](const T& v, const auto&) { return low <= v && v <= high; }, [=](T& v, auto&) { v = high + 1; });
}
// NaN is not.
template <class T> auto at_least(T low) {
  return where(
      cat("is at least ", low), [=](const T& v, const auto&) { return v >= low; }, [=](T& v, auto&) { v = low - 1; });
}

// Rules of arrays.
inline auto length(size_t n) {
  return where<Stage::kRank>(
      cat("has ", n, " elements"), [=](const aclIntArray& a, const auto&) { return a.values.size() == n; },
      [=](aclIntArray& a, auto&) { a.values.assign(n + 1, 1); });
}

inline auto converts_to_float() {
  return where<Stage::kDtype>(
      "has a dtype that converts to FLOAT",
      [](const aclScalar& s, const auto&) { return converts(s.dtype, DataType::kFloat); },
      [](aclScalar& s, auto&) { s.dtype = DataType::kComplex64; });
}

}  // namespace descend
