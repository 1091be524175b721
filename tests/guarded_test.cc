// SPDX-License-Identifier: MIT
// What tests rely on to see who reads too far.
#include "tests/harness/guarded.h"

#include <gtest/gtest.h>

namespace descend::test {
namespace {

void touch(const void* at) { (void)*static_cast<const volatile char*>(at); }

TEST(HarnessGuardedMemory, stops_who_reads_behind_it_and_far_before_it) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t bytes : {size_t{1}, page, page + 24})
    for (size_t gap : {size_t{0}, size_t{8}}) {
      const GuardedMemory memory(bytes, gap);
      char* const data = static_cast<char*>(memory.data());
      data[0] = data[bytes - 1] = 1;
      const char* const end = data + bytes + gap;
      const size_t there = (bytes + gap + page - 1) / page * page;
      touch(end - 1);
      touch(end - there);
      EXPECT_DEATH(touch(end), "");
      EXPECT_DEATH(touch(end - there - 1), "");
    }
}

}  // namespace
}  // namespace descend::test
