// SPDX-License-Identifier: MIT
// A process that makes calls for ever stays as large as it is.  Not under a sanitizer, which keeps what is freed.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "ops/elu/elu.h"
#include "src/plan/catalog.h"
#include "tests/harness/call.h"
#include "tests/harness/samples.h"

namespace descend::test {
namespace {

// Memory of the process's own, resident or swapped out.  Pages of files are not counted: when the machine is short of
// memory they go and come back, megabytes at a time, whatever the process does.
int64_t own_bytes() {
#ifdef __GLIBC__
  // What is freed goes back to the system or not, by thresholds that rise with the blocks that tests before have freed.
  malloc_trim(0);
#endif
  int64_t kilobytes = 0;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RssAnon:") || line.starts_with("VmSwap:"))
      kilobytes += std::stoll(line.substr(line.find(':') + 1));
  return kilobytes << 10;
}

void make_call(const OperatorEntry& op, const void* params) {
  uint64_t size = 1;
  aclOpExecutor* executor = nullptr;
  must(op.plan(params, &size, &executor), op.text.function.c_str());
  ASSERT_EQ(size, 0u) << op.text.function;
  must(run(op.text.function.c_str(), nullptr, 0, executor, nullptr), op.text.function.c_str());
}

class MemoryOfCalls : public testing::Test {
  OnDevice on_device_;
};

TEST_F(MemoryOfCalls, stays_the_same_over_a_million) {
  struct Call {
    const OperatorEntry* op;
    std::shared_ptr<void> params;
  };
  Sample sample;
  std::vector<Call> calls;
  for (const OperatorEntry& op : catalog()) calls.push_back({&op, samples().at(op.text.function)(sample)});
  ASSERT_FALSE(calls.empty());
  int64_t made = 0;
  const auto make_calls = [&](int64_t count) {
    for (const int64_t end = made + count; made < end; ++made) {
      const Call& call = calls[static_cast<size_t>(made) % calls.size()];
      make_call(*call.op, call.params.get());
      if (made % 16 != 0) continue;
      // And now and then one of another shape than the last ones, which is planned anew.
      Sample other;
      const Sizes shape{made / 16 % 61 + 1};
      const Elu::Params params{other.tensor(DataType::kFloat, shape), other.number(1), other.number(1), other.number(1),
                               other.tensor(DataType::kFloat, shape)};
      make_call(*find_operator("aclnnElu"), &params);
    }
    must(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
  };
  make_calls(20000);
  const int64_t before = own_bytes();
  make_calls(1000000);
  EXPECT_LE(own_bytes() - before, 256 << 10);  // the heap grows by 128 KiB once
}

}  // namespace
}  // namespace descend::test
#endif
