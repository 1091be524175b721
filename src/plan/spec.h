// SPDX-License-Identifier: MIT
// An operator's contract as a table: one row a parameter, in the order of the C function, each with the rules it must
// satisfy.  The table is checked in phase one, printed as documentation, and read by the tests, which make one failing
// call of every rule.
#pragma once
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "src/base/product.h"
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/plan/rows.h"
#include "src/plan/table.h"

namespace descend {

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
Status broken(const char* parameter, const std::string& rule, const std::string& found, Code code = Code::kInvalid);
// What holds for every tensor: sizes that are sizes, addresses that exist, outputs whose elements do not share memory.
Status well_formed(const char* parameter, const aclTensor& t, bool is_written);
const char* name_of(Direction direction);
}  // namespace detail

template <class P> class Spec {
 public:
  struct TensorParameter {
    const char* name;
    const aclTensor* P::*field;
    int extent;     // in Extents
    bool in_place;  // an output may be the very same view
    bool is_input;
  };

  // `products` are those whose page supports the operator.
  template <class... Rows>
  Spec(const char* function, const char* summary, std::vector<Product> products, Rows... rows)
      : function_(function),
        phase_one_(std::string(function) + "GetWorkspaceSize"),
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
      if (row.direction != Direction::kOut) inputs_.push_back({row.name, row.tensor, extent, row.in_place, true});
      if (row.direction != Direction::kIn)
        outputs_.push_back({row.name, row.tensor, extent, true, row.direction != Direction::kOut});
      ++extent;
    }
    for (const auto& in : inputs_) addressed_.push_back(in.field);
    for (const auto& out : outputs_)
      if (!out.is_input) addressed_.push_back(out.field);
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
      const std::string direction = cat(detail::name_of(row.direction), row.required ? "" : ", optional");
      text.parameters.push_back({row.name, direction, row.meaning, rules});
    }
    return text;
  }

  const char* function() const { return function_; }
  const char* phase_one() const { return phase_one_.c_str(); }
  const std::vector<Row<P>>& rows() const { return rows_; }
  // Tensor parameters in the API's order; one that is both appears in both.  Those that are optional may be null.
  const std::vector<TensorParameter>& inputs() const { return inputs_; }
  const std::vector<TensorParameter>& outputs() const { return outputs_; }
  // Each once, as in Addresses.
  const std::vector<const aclTensor * P::*>& addressed() const { return addressed_; }
  std::unique_ptr<Memory<P>> make_memory() const { return table_->make_memory(); }

 private:
  // Which rule a call breaks, in the order the table looks at them.
  Status diagnose(const P& p) const {
    for (const Row<P>& row : rows_)
      if (row.required && !row.present(p)) return detail::missing(row.name);
    for (const Row<P>& row : rows_)
      if (!row.alive(p)) return detail::dead(row.name);
    for (const Stage stage : {Stage::kRank, Stage::kDtype, Stage::kShape, Stage::kValue}) {
      for (const Row<P>& row : rows_)
        for (const Check<P>& check : row.checks)
          if (check.stage == stage && !check.holds(p))
            return detail::broken(row.name, check.rule, found(row, check, p), check.code);
      if (stage != Stage::kDtype) continue;
      for (const Row<P>& row : rows_)
        if (row.tensor && row.present(p))
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
  const std::string phase_one_;
  const char* summary_;
  std::vector<Product> products_;
  uint32_t product_mask_ = 0;
  std::vector<Row<P>> rows_;
  std::unique_ptr<const Table<P>> table_;
  std::vector<TensorParameter> inputs_, outputs_;
  std::vector<const aclTensor * P::*> addressed_;
};

}  // namespace descend
