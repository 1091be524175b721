// SPDX-License-Identifier: MIT
// Every rule of every operator's table fails a call that breaks it, and says so.
#include <gtest/gtest.h>

#include <cstdlib>

#include "src/base/environment.h"
#include "src/plan/catalog.h"
#include "tests/harness/call.h"
#include "tests/harness/samples.h"

namespace descend::test {
namespace {

// The products' rules are chosen by a SoC name.
class OnProduct {
 public:
  explicit OnProduct(std::string_view soc, const std::string& extensions = {}) {
    setenv("DESCEND_SOC", std::string(soc).c_str(), 1);
    setenv("DESCEND_EXTENSIONS", extensions.c_str(), 1);
    reread_environment();
  }
  ~OnProduct() {
    unsetenv("DESCEND_SOC");
    unsetenv("DESCEND_EXTENSIONS");
    reread_environment();
  }
};

std::string soc_of(Product product) {
  switch (product) {
    case Product::kAscend950:
      return "Ascend950PR_9599";
    case Product::kA3:
      return "Ascend910_9391";
    case Product::kA2:
      return "Ascend910B1";
    case Product::kA2Edge:
      return "Ascend310B1";
    case Product::kAtlasInference:
      return "Ascend310P3";
    case Product::kAtlasTraining:
      return "Ascend910A";
    case Product::kAtlas300:
      return "Ascend310";
  }
  return "";
}

// Phase one's outputs before it has written them.
constexpr uint64_t kUnwritten = 0xDEAD;

struct Answer {
  int32_t code;
  bool wrote;
  std::string text;
};
Answer ask(const OperatorEntry& op, const void* params) {
  recent_error();
  uint64_t size = kUnwritten;
  aclOpExecutor* executor = nullptr;
  const int32_t code = op.plan(params, &size, &executor);
  const bool wrote = size != kUnwritten || executor != nullptr;
  if (executor) {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  }
  return {code, wrote, recent_error()};
}

class SpecOfEveryOperator : public testing::Test {
 protected:
  OnDevice on_device_;
};

TEST_F(SpecOfEveryOperator, has_a_sample_that_passes) {
  ASSERT_FALSE(catalog().empty());
  for (const OperatorEntry& op : catalog()) {
    ASSERT_TRUE(samples().contains(op.text.function)) << op.text.function << " has no sample in its test";
    Sample sample;
    const auto params = samples().at(op.text.function)(sample);
    const Answer answer = ask(op, params.get());
    EXPECT_EQ(answer.code, 0) << op.text.function << ": " << answer.text;
    EXPECT_TRUE(answer.wrote);
    EXPECT_EQ(answer.text, "");
  }
}

TEST_F(SpecOfEveryOperator, fails_every_rule_with_its_code_and_text_and_writes_nothing) {
  for (const OperatorEntry& op : catalog()) {
    ASSERT_FALSE(op.violations.empty());
    for (const Violation& violation : op.violations) {
      const OnProduct product(soc_of(violation.product.value_or(Product::kA2)), violation.extension);
      Sample sample;
      const auto params = samples().at(op.text.function)(sample);
      Copies copies;
      violation.apply(params.get(), copies);
      const Answer answer = ask(op, params.get());
      const std::string expected =
          op.text.function + ": " + violation.parameter + " must satisfy: " + violation.rule + "; it is ";
      EXPECT_EQ(answer.code, static_cast<int32_t>(violation.code)) << expected;
      EXPECT_FALSE(answer.wrote) << expected;
      EXPECT_NE(answer.text.find(expected), std::string::npos) << expected << "\n" << answer.text;
    }
  }
}

TEST_F(SpecOfEveryOperator, runs_on_the_products_of_its_page_only) {
  for (const OperatorEntry& op : catalog())
    for (Product product : all_products()) {
      const OnProduct chosen(soc_of(product));
      Sample sample;
      const auto params = samples().at(op.text.function)(sample);
      const bool supported =
          std::find(op.text.products.begin(), op.text.products.end(), product) != op.text.products.end();
      const Answer answer = ask(op, params.get());
      EXPECT_EQ(answer.code, supported ? 0 : 561003)
          << op.text.function << " on " << name(product) << ": " << answer.text;
      if (!supported) {
        EXPECT_NE(answer.text.find(soc_of(product)), std::string::npos) << answer.text;
      }
    }
}

TEST_F(SpecOfEveryOperator, wants_workspace_size_and_executor_before_anything_else) {
  for (const OperatorEntry& op : catalog()) {
    Sample sample;
    const auto params = samples().at(op.text.function)(sample);
    for (const Violation& violation : op.violations)
      if (violation.code == Code::kInvalid) {
        Copies copies;
        violation.apply(params.get(), copies);
        uint64_t size = kUnwritten;
        aclOpExecutor* executor = nullptr;
        EXPECT_EQ(op.plan(params.get(), nullptr, &executor), 161001);
        EXPECT_NE(recent_error().find("workspaceSize must satisfy: is not null"), std::string::npos);
        EXPECT_EQ(op.plan(params.get(), &size, nullptr), 161001);
        EXPECT_NE(recent_error().find("executor must satisfy: is not null"), std::string::npos);
        EXPECT_EQ(size, kUnwritten);
        break;
      }
  }
}

TEST_F(SpecOfEveryOperator, has_words_for_every_parameter) {
  for (const OperatorEntry& op : catalog()) {
    EXPECT_FALSE(op.text.summary.empty());
    for (const auto& parameter : op.text.parameters) EXPECT_FALSE(parameter.meaning.empty()) << parameter.name;
    EXPECT_EQ(op.text.markdown().find("{}"), std::string::npos);
  }
}

}  // namespace
}  // namespace descend::test
