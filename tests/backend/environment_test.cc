// SPDX-License-Identifier: MIT
// Environment variables, the log and the product table.
#include "src/base/environment.h"

#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "src/base/log.h"
#include "src/base/product.h"
#include "src/base/text.h"
#include "tests/backend/support.h"

namespace descend {
namespace {

// What `body` writes to a file descriptor.
std::string written_to(int descriptor, const std::function<void()>& body) {
  char path[] = "/tmp/descend_test_XXXXXX";
  const int file = mkstemp(path);
  const int kept = dup(descriptor);
  dup2(file, descriptor);
  body();
  dup2(kept, descriptor);
  close(kept);
  close(file);
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  unlink(path);
  return text;
}

TEST(EnvironmentTest, unset_and_empty_variables_have_their_defaults) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const ChangedEnvironment changed{{"DESCEND_DEVICE", value},          {"DESCEND_SOC", value},
                                     {"DESCEND_EXTENSIONS", value},      {"DESCEND_BACKEND_PATH", value},
                                     {"DESCEND_CPU_TARGET", value},      {"ASCEND_RT_VISIBLE_DEVICES", nullptr},
                                     {"DESCEND_THREADS", value},         {"DESCEND_SYNC", value},
                                     {"ASCEND_GLOBAL_LOG_LEVEL", value}, {"ASCEND_SLOG_PRINT_TO_STDOUT", value}};
    EXPECT_EQ(environment(), Environment{});
  }
}

TEST(EnvironmentTest, every_variable_is_read) {
  const ChangedEnvironment changed{{"DESCEND_DEVICE", "reference"},  {"DESCEND_SOC", "Ascend310"},
                                   {"DESCEND_EXTENSIONS", "a,b"},    {"DESCEND_BACKEND_PATH", "/x:/y"},
                                   {"DESCEND_CPU_TARGET", "NEON"},   {"ASCEND_RT_VISIBLE_DEVICES", "1,0"},
                                   {"DESCEND_THREADS", "7"},         {"DESCEND_SYNC", "1"},
                                   {"ASCEND_GLOBAL_LOG_LEVEL", "4"}, {"ASCEND_SLOG_PRINT_TO_STDOUT", "1"}};
  const Environment wanted{.device = "reference",
                           .soc = "Ascend310",
                           .product = Product::kAtlas300,
                           .extensions = "a,b",
                           .backend_path = "/x:/y",
                           .cpu_target = "NEON",
                           .visible_devices = "1,0",
                           .visible_devices_set = true,
                           .threads = 7,
                           .synchronous = true,
                           .log_level = 4,
                           .log_to_stdout = true};
  EXPECT_EQ(environment(), wanted);
  EXPECT_EQ(current_product(), Product::kAtlas300);
}

TEST(EnvironmentTest, an_empty_list_of_devices_is_not_an_unset_one) {
  const ChangedEnvironment changed{{"ASCEND_RT_VISIBLE_DEVICES", ""}};
  EXPECT_TRUE(environment().visible_devices_set);
  EXPECT_EQ(environment().visible_devices, "");
}

TEST(EnvironmentTest, nonsense_is_said_in_the_log_and_counts_as_unset) {
  const ChangedEnvironment before{{"ASCEND_GLOBAL_LOG_LEVEL", "2"}, {"ASCEND_SLOG_PRINT_TO_STDOUT", "0"}};
  for (const char* value : {"abc", "-1", "3 ", "0x10", "99999999999999999999", "5000", "1.5"}) {
    const std::string text = written_to(STDERR_FILENO, [&] {
      const ChangedEnvironment changed{{"DESCEND_THREADS", value}};
      EXPECT_EQ(environment().threads, 0) << value;
    });
    EXPECT_NE(text.find("DESCEND_THREADS must be a whole number from 0 to 4096"), std::string::npos) << text;
    EXPECT_NE(text.find(value), std::string::npos) << text;
  }
  const ChangedEnvironment changed{{"DESCEND_SYNC", "yes"}, {"ASCEND_GLOBAL_LOG_LEVEL", "5"}};
  EXPECT_FALSE(environment().synchronous);
  EXPECT_EQ(environment().log_level, 3);
}

TEST(EnvironmentTest, nonsense_is_said_once_although_it_is_read_again) {
  const ChangedEnvironment before{{"ASCEND_GLOBAL_LOG_LEVEL", "3"}, {"ASCEND_SLOG_PRINT_TO_STDOUT", "0"}};
  for (int round = 0; round < 2; ++round) {
    const std::string text = written_to(STDERR_FILENO, [&] {
      const ChangedEnvironment changed{{"DESCEND_CHECK", "maybe"}};
      reread_environment();
    });
    const size_t first = text.find("DESCEND_CHECK must be");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("DESCEND_CHECK must be", first + 1), std::string::npos) << text;
  }
}

TEST(EnvironmentTest, the_same_variables_give_the_same_object) {
  const Environment* const before = &environment();
  {
    const ChangedEnvironment changed{{"DESCEND_THREADS", "3"}};
    EXPECT_NE(&environment(), before);
  }
  EXPECT_EQ(&environment(), before);
}

TEST(EnvironmentTest, threads_may_read_while_it_is_read_again) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        if (t == 0) reread_environment();
        EXPECT_FALSE(environment().soc.empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LogTest, lines_below_the_level_are_not_written) {
  for (int level = 0; level <= 4; ++level) {
    const ChangedEnvironment changed{{"ASCEND_GLOBAL_LOG_LEVEL", std::to_string(level).c_str()},
                                     {"ASCEND_SLOG_PRINT_TO_STDOUT", nullptr}};
    const std::string text = written_to(STDERR_FILENO, [] {
      log(LogLevel::kDebug, "a");
      log(LogLevel::kInfo, "b");
      log(LogLevel::kWarning, "c");
      log(LogLevel::kError, "d");
      log(LogLevel::kNone, "e");
    });
    const std::string lines[] = {
        cat("[DEBUG] DESCEND(", getpid(), "): a\n"), cat("[INFO] DESCEND(", getpid(), "): b\n"),
        cat("[WARNING] DESCEND(", getpid(), "): c\n"), cat("[ERROR] DESCEND(", getpid(), "): d\n")};
    std::string wanted;
    for (int i = level; i < 4; ++i) wanted += lines[i];
    EXPECT_EQ(text, wanted);
    EXPECT_EQ(log_enabled(LogLevel::kInfo), level <= 1);
    EXPECT_FALSE(log_enabled(LogLevel::kNone));
  }
}

TEST(LogTest, it_goes_to_standard_output_when_asked_to) {
  const ChangedEnvironment changed{{"ASCEND_GLOBAL_LOG_LEVEL", "3"}, {"ASCEND_SLOG_PRINT_TO_STDOUT", "1"}};
  EXPECT_EQ(written_to(STDOUT_FILENO, [] { log(LogLevel::kError, "x"); }), cat("[ERROR] DESCEND(", getpid(), "): x\n"));
}

TEST(LogTest, an_event_is_one_line_however_long_its_text_and_however_many_threads_write) {
  const ChangedEnvironment changed{{"ASCEND_GLOBAL_LOG_LEVEL", "3"}, {"ASCEND_SLOG_PRINT_TO_STDOUT", nullptr}};
  const std::string text = written_to(STDERR_FILENO, [] {
    log(LogLevel::kError, "two\nlines");
    log(LogLevel::kError, std::string(100'000, 'x'));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) log(LogLevel::kError, "of a thread");
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos) << "the last line has an end";
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 202u);
  EXPECT_TRUE(lines[0].ends_with("two lines"));
  EXPECT_LE(lines[1].size(), 4096u);
  for (size_t i = 2; i < lines.size(); ++i) EXPECT_EQ(lines[i], cat("[ERROR] DESCEND(", getpid(), "): of a thread"));
}

TEST(ProductTest, names_belong_to_their_families) {
  const std::pair<const char*, std::optional<Product>> table[] = {
      {"Ascend950", Product::kAscend950},
      {"Ascend950PR_9599", Product::kAscend950},
      {"Ascend910_93", Product::kA3},
      {"Ascend910_9391", Product::kA3},
      {"Ascend910B", Product::kA2},
      {"Ascend910B1", Product::kA2},
      {"Ascend910B4-1", Product::kA2},
      {"Ascend310B1", Product::kA2Edge},
      {"Ascend310P3", Product::kAtlasInference},
      {"Ascend310P", Product::kAtlasInference},
      {"Ascend910", Product::kAtlasTraining},
      {"Ascend910A", Product::kAtlasTraining},
      {"Ascend310", Product::kAtlas300},
      {"Ascend910C", std::nullopt},
      {"Ascend910_92", std::nullopt},
      {"Ascend310X", std::nullopt},
      {"Ascend3", std::nullopt},
      {"ascend910b1", std::nullopt},
      {" Ascend310", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [soc, product] : table) EXPECT_EQ(product_of(soc), product) << soc;
  EXPECT_EQ(name(Product::kA2), "Atlas A2 (Ascend910B)");
}

TEST(ProductTest, an_unknown_name_has_the_rules_of_the_default) {
  const ChangedEnvironment changed{{"DESCEND_SOC", "Ascend42"}};
  EXPECT_EQ(current_product(), Product::kA2);
}

}  // namespace
}  // namespace descend
