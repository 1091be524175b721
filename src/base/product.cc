// SPDX-License-Identifier: MIT
// Which SoC names belong to which product.
#include "src/base/product.h"

#include "src/base/environment.h"

namespace descend {
namespace {

struct Family {
  std::string_view start;
  bool whole;  // the name is `start` and nothing more: Ascend310 must not take in Ascend310X
  Product product;
};
constexpr Family kFamilies[] = {
    {"Ascend910B", false, Product::kA2},
    {"Ascend910_93", false, Product::kA3},
    {"Ascend950", false, Product::kAscend950},
    {"Ascend310B", false, Product::kA2Edge},
    {"Ascend310P", false, Product::kAtlasInference},
    {"Ascend910A", false, Product::kAtlasTraining},
    {"Ascend910", true, Product::kAtlasTraining},
    {"Ascend310", true, Product::kAtlas300},
};

}  // namespace

std::optional<Product> product_of(std::string_view soc) {
  for (const Family& family : kFamilies) {
    if (family.whole ? soc == family.start : soc.starts_with(family.start)) return family.product;
  }
  return std::nullopt;
}

std::string_view name(Product product) {
  switch (product) {
    case Product::kAscend950:
      return "Ascend 950 (Ascend950)";
    case Product::kA3:
      return "Atlas A3 (Ascend910_93)";
    case Product::kA2:
      return "Atlas A2 (Ascend910B)";
    case Product::kA2Edge:
      return "Atlas 200I/500 A2 (Ascend310B)";
    case Product::kAtlasInference:
      return "Atlas inference (Ascend310P)";
    case Product::kAtlasTraining:
      return "Atlas training (Ascend910)";
    case Product::kAtlas300:
      return "Atlas 200/300/500 inference (Ascend310)";
  }
  return "unknown product";
}

Product current_product() { return environment().product.value_or(Product::kA2); }

}  // namespace descend
