// SPDX-License-Identifier: MIT
// Naming and forcing the SIMD target of the cpu kernels.
#include "src/backends/cpu/targets.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "src/base/environment.h"

namespace descend {
namespace {

class CpuTarget : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("DESCEND_CPU_TARGET");
    reread_environment();
    set_cpu_target({});
  }
  static void choose(const char* name) {
    setenv("DESCEND_CPU_TARGET", name, 1);
    reread_environment();
    choose_cpu_target();
  }
};

TEST_F(CpuTarget, each_offered_target_can_be_forced_and_is_named) {
  ASSERT_FALSE(cpu_targets().empty());
  for (std::string_view name : cpu_targets()) {
    EXPECT_TRUE(set_cpu_target(name));
    EXPECT_EQ(cpu_target(), name);
  }
  EXPECT_TRUE(set_cpu_target({}));
  EXPECT_EQ(cpu_target(), cpu_targets().front());
}

TEST_F(CpuTarget, a_target_that_is_not_offered_changes_nothing) {
  ASSERT_TRUE(set_cpu_target(cpu_targets().back()));
  EXPECT_FALSE(set_cpu_target("SSE4"));
  EXPECT_FALSE(set_cpu_target("neon"));
  EXPECT_EQ(cpu_target(), cpu_targets().back());
}

TEST_F(CpuTarget, the_environment_chooses) {
  choose(std::string(cpu_targets().back()).c_str());
  EXPECT_EQ(cpu_target(), cpu_targets().back());
}

TEST_F(CpuTarget, an_unknown_name_in_the_environment_gives_the_best_target) {
  ASSERT_TRUE(set_cpu_target(cpu_targets().back()));
  choose("PENTIUM");
  EXPECT_EQ(cpu_target(), cpu_targets().front());
}

TEST_F(CpuTarget, targets_that_cannot_fuse_are_not_offered) {
  for (std::string_view name : cpu_targets()) {
    EXPECT_NE(name, "SSSE3");
    EXPECT_NE(name, "SSE4");
    EXPECT_NE(name, "EMU128");
  }
}

}  // namespace
}  // namespace descend
