// SPDX-License-Identifier: MIT
// The products whose rules DESCEND_SOC can ask for.
#pragma once
#include <array>
#include <optional>
#include <string_view>

namespace descend {

enum class Product { kAscend950, kA3, kA2, kA2Edge, kAtlasInference, kAtlasTraining, kAtlas300 };

constexpr std::array<Product, 7> all_products() {
  return {Product::kAscend950,     Product::kA3,      Product::kA2, Product::kA2Edge, Product::kAtlasInference,
          Product::kAtlasTraining, Product::kAtlas300};
}

// The product family of a SoC name ("Ascend910B1" is kA2); empty for a name no family has.
std::optional<Product> product_of(std::string_view soc);
// "Atlas A2 (Ascend910B)", for texts and tables.
std::string_view name(Product product);

// The family of environment().soc; kA2 when that name is unknown (aclInit has said so).
Product current_product();

}  // namespace descend
