// SPDX-License-Identifier: MIT
// Pending error texts: their form, their order and whose they are.
#include "src/base/report.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "src/base/text.h"
#include "tests/backend/support.h"

namespace descend {
namespace {

struct BackendReport : testing::Test {
  BackendReport() { forget(); }
  ~BackendReport() override { forget(); }
  static void forget() {
    share_recent_errors(true);
    take_recent_error();
    share_recent_errors(false);
    take_recent_error();
    clear_last_runtime_code();
  }
  const ChangedEnvironment quiet{{"ASCEND_GLOBAL_LOG_LEVEL", "4"}};
};

TEST_F(BackendReport, the_text_names_process_time_kind_function_and_message) {
  EXPECT_EQ(report(Layer::kAclnn, "aclnnElu", {Code::kInvalid, "beta must satisfy: x; it is 1", "Pass 0."}), 161002);
  const char* const text = take_recent_error();
  ASSERT_NE(text, nullptr);
  const std::string process = cat("[PID: ", getpid(), "] "), time = "dddd-dd-dd-dd:dd:dd.ddd.ddd";
  std::string shape = text;
  for (size_t i = process.size(); i < std::min(shape.size(), process.size() + time.size()); ++i) {
    if (shape[i] >= '0' && shape[i] <= '9') shape[i] = 'd';
  }
  EXPECT_EQ(shape, cat(process, time,
                       " AclNN_Parameter_Error(EZ1001): aclnnElu: beta must satisfy: x; it is 1\nSolution: Pass 0."));
}

TEST_F(BackendReport, the_kind_follows_layer_and_code) {
  const struct {
    Layer layer;
    Code code;
    const char* title;
  } table[] = {
      {Layer::kAclnn, Code::kNullPointer, "AclNN_Parameter_Error(EZ1001)"},
      {Layer::kAclnn, Code::kInvalid, "AclNN_Parameter_Error(EZ1001)"},
      {Layer::kAclnn, Code::kTiling, "AclNN_Parameter_Error(EZ1001)"},
      {Layer::kAclnn, Code::kRuntime, "AclNN_Runtime_Error(EZ9903)"},
      {Layer::kAclnn, Code::kInner, "AclNN_Inner_Error(EZ9999)"},
      {Layer::kAclnn, Code::kNoKernel, "AclNN_Inner_Error(EZ9999)"},
      {Layer::kAcl, Code::kInvalidParam, "Invalid_Argument(EH0001)"},
      {Layer::kAcl, Code::kParamInvalid, "Invalid_Argument(EH0001)"},
      {Layer::kAcl, Code::kOutOfMemory, "Invalid_Argument(EH0001)"},
      {Layer::kAcl, Code::kInternal, "Invalid_Argument(EH0001)"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(report(row.layer, "f", {row.code, "m"}), static_cast<int32_t>(row.code));
    const std::string text = take_recent_error();
    EXPECT_NE(text.find(cat(row.title, ": f: m")), std::string::npos) << text;
    EXPECT_EQ(text.find("Solution"), std::string::npos) << text;
  }
}

TEST_F(BackendReport, success_leaves_everything_as_it_was) {
  EXPECT_EQ(take_recent_error(), nullptr);
  EXPECT_EQ(report(Layer::kAcl, "f", {Code::kNoContext, "none"}), 107002);
  EXPECT_EQ(report(Layer::kAcl, "g", {}), 0);
  EXPECT_EQ(last_runtime_code(), 107002);
  EXPECT_NE(take_recent_error(), nullptr);
}

TEST_F(BackendReport, the_newest_comes_first_and_reading_clears) {
  report(Layer::kAcl, "f", {Code::kInternal, "older"});
  report(Layer::kAcl, "f", {Code::kInternal, "newer"});
  const std::string text = take_recent_error();
  ASSERT_NE(text.find("newer"), std::string::npos) << text;
  EXPECT_LT(text.find("newer"), text.find("older"));
  EXPECT_NE(text.find("newer\n[PID: "), std::string::npos) << text;
  EXPECT_EQ(take_recent_error(), nullptr);
}

TEST_F(BackendReport, the_list_is_bounded_and_keeps_the_newest) {
  for (int i = 0; i < 1000; ++i) report(Layer::kAcl, "f", {Code::kInternal, cat("number ", i, ".")});
  const std::string text = take_recent_error();
  EXPECT_LT(text.size(), 4096u);
  EXPECT_NE(text.find("number 999."), std::string::npos);
  EXPECT_EQ(text.find("number 900."), std::string::npos);
  EXPECT_EQ(take_recent_error(), nullptr);
}

TEST_F(BackendReport, only_the_runtime_layer_sets_the_last_code) {
  report(Layer::kAclnn, "f", {Code::kInvalid, "m"});
  EXPECT_EQ(last_runtime_code(), 0);
  report(Layer::kAcl, "f", {Code::kParamInvalid, "m"});
  EXPECT_EQ(last_runtime_code(), 107000);
  clear_last_runtime_code();
  EXPECT_EQ(last_runtime_code(), 0);
}

TEST_F(BackendReport, texts_and_codes_belong_to_the_thread) {
  report(Layer::kAcl, "f", {Code::kInternal, "mine"});
  std::thread([] {
    EXPECT_EQ(take_recent_error(), nullptr);
    EXPECT_EQ(last_runtime_code(), 0);
    report(Layer::kAcl, "f", {Code::kParamInvalid, "theirs"});
  }).join();
  EXPECT_EQ(last_runtime_code(), 507000);
  const std::string text = take_recent_error();
  EXPECT_EQ(text.find("theirs"), std::string::npos);
}

TEST_F(BackendReport, texts_belong_to_the_process_when_asked_for) {
  share_recent_errors(true);
  std::thread([] { report(Layer::kAcl, "f", {Code::kParamInvalid, "theirs"}); }).join();
  const char* const text = take_recent_error();
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find("theirs"), std::string::npos);
  EXPECT_EQ(last_runtime_code(), 0) << "codes stay with their thread";
}

TEST_F(BackendReport, the_pointer_is_good_until_the_threads_next_call) {
  share_recent_errors(true);
  report(Layer::kAcl, "f", {Code::kInternal, "kept"});
  const char* const text = take_recent_error();
  std::thread([] {
    report(Layer::kAcl, "f", {Code::kInternal, "other"});
    take_recent_error();
  }).join();
  EXPECT_NE(std::string(text).find("kept"), std::string::npos);
}

// A thread-local object that outlives the pending texts of its thread.
struct ReportsAtTheEnd {
  ~ReportsAtTheEnd() {
    code = report(Layer::kAcl, "f", {Code::kInternal, "late"});
    text = take_recent_error();
  }
  static inline int32_t code = 0;
  static inline const char* text = nullptr;
};

TEST_F(BackendReport, a_thread_may_still_fail_while_it_ends) {
  std::thread([] {
    thread_local ReportsAtTheEnd late;
    (void)&late;
    report(Layer::kAcl, "f", {Code::kInternal, "early"});
  }).join();
  EXPECT_EQ(ReportsAtTheEnd::code, 507000);
  EXPECT_EQ(ReportsAtTheEnd::text, nullptr);
}

}  // namespace
}  // namespace descend
