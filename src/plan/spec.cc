// SPDX-License-Identifier: MIT
// The texts of contracts, and the rules that hold for every operator.
#include "src/plan/spec.h"

#include <algorithm>

#include "src/base/environment.h"
#include "src/tensor/overlap.h"

namespace descend {
namespace detail {

const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::kIn:
      return "in";
    case Direction::kOut:
      return "out";
    case Direction::kInOut:
      return "in, out";
  }
  return "";
}

Status not_on_this_product(const char* function, const std::vector<Product>& products) {
  std::string supported;
  for (Product product : products) supported += cat(supported.empty() ? "" : ", ", name(product));
  return {Code::kNoKernel,
          cat("the product must satisfy: supports ", function, "; it is ", environment().soc, " (",
              name(current_product()), ")"),
          cat("set DESCEND_SOC to one of: ", supported)};
}

Status missing(const char* parameter) {
  return {Code::kNullPointer, cat(parameter, " must satisfy: is not null; it is null")};
}

Status dead(const char* parameter) {
  return {Code::kInvalid, cat(parameter, " must satisfy: is an object that was created and not destroyed; it is not"),
          "keep the object alive until phase two has returned"};
}

Status broken(const char* parameter, const std::string& rule, const std::string& found, Code code) {
  return {code, cat(parameter, " must satisfy: ", rule, "; it is ", found)};
}

Status well_formed(const char* parameter, const aclTensor& t, bool is_written) {
  if (!count(t.shape))
    return broken(parameter, "has dimensions that are not negative and whose product fits in int64", describe(t));
  Extent extent;
  if (!is_addressable(t, extent))
    return broken(parameter, "has strides and an offset that stay in the address space",
                  cat(describe(t), " with offset ", t.offset));
  if (is_written && overlaps_itself(t))
    return broken(parameter, "is a view whose elements do not share memory", describe(t));
  return {};
}

}  // namespace detail

std::string SpecText::markdown() const {
  std::string s = "| parameter | | meaning | rules |\n|---|---|---|---|\n";
  for (const Parameter& p : parameters)
    s += cat("| ", p.name, " | ", p.direction, " | ", p.meaning, " | ", p.rules, " |\n");
  s += "\n| product | supported |\n|---|---|\n";
  for (Product product : all_products()) {
    const bool supported = std::find(products.begin(), products.end(), product) != products.end();
    s += cat("| ", name(product), " | ", supported ? "yes" : "no", " |\n");
  }
  return s;
}

}  // namespace descend
