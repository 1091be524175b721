// SPDX-License-Identifier: MIT
// What tests rely on to see who reads too far.
#include "tests/harness/guarded.h"

#include <gtest/gtest.h>

namespace descend::test {
namespace {

// Asks the system, which answers instead of stopping the program.
bool may_be_read(const char* at) {
  int ends[2];
  must(pipe(ends), "pipe");
  const ssize_t written = write(ends[1], at, 1);
  for (int end : ends) close(end);
  return written == 1;
}

TEST(HarnessGuardedMemory, ends_where_nothing_may_be_read) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t bytes : {size_t{1}, page, page + 24})
    for (size_t gap : {size_t{0}, size_t{8}}) {
      const GuardedMemory memory(bytes, gap);
      char* const data = static_cast<char*>(memory.data());
      data[0] = data[bytes - 1] = 1;
      const char* const end = data + bytes + gap;
      const size_t there = (bytes + gap + page - 1) / page * page;
      EXPECT_TRUE(may_be_read(end - 1));
      EXPECT_TRUE(may_be_read(end - there));
      EXPECT_FALSE(may_be_read(end));
      EXPECT_FALSE(may_be_read(end - there - 1));
    }
}

}  // namespace
}  // namespace descend::test
